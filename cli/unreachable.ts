import { writeError } from './output/streams.ts';

/** A node that did not answer, and why. */
interface Unreachable {
  node: string;
  error: string;
}

/** Returns the nodes that did not answer for one of the pages, each once. */
export function unreachableOf(pages: readonly { unreachable: readonly Unreachable[] }[]): Unreachable[] {
  const silent = pages.flatMap((page) => page.unreachable).map(({ node, error }) => [node, error] as const);
  return [...new Map(silent)].map(([node, error]) => ({ node, error }));
}

/** Warns of each node that did not answer. */
export async function warnOfUnreachable(nodes: readonly Unreachable[]): Promise<void> {
  for (const { node, error } of nodes) await writeError(`warning: ${node} could not answer: ${error}`);
}
