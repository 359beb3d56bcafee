import type { Operations } from '../api/generated.ts';

/** Gets each warning of an answer: a sentence about a probable mistake in the request. */
export type OnWarning = (warning: string, operation: keyof Operations) => void;

interface Warned {
  warnings?: readonly string[];
}

/** Maximum number of warnings that one client writes to the console. */
const WRITTEN_MAX = 100;

/** Returns the warnings of an answer; for several queries, those of all results. */
export function warningsIn<K extends keyof Operations>(operation: K, answer: Operations[K]['result']): string[] {
  const { results = [], warnings = [] } = answer as Warned & { results?: readonly Warned[] };
  const parts = operation === 'queryMany' ? results : [{ warnings }];
  return parts.flatMap((part) => part.warnings ?? []);
}

/** Writes each warning to the console once. */
export function consoleWarnings(): OnWarning {
  const written = new Set<string>();
  return (warning) => {
    if (written.has(warning) || written.size === WRITTEN_MAX) return;
    written.add(warning);
    console.warn(`Provec: ${warning}`);
  };
}
