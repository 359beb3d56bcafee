import type { Caller } from '../../contracts/actions/call.ts';
import type { RowRange, TablePage, Unreachable } from '../../contracts/actions/cluster.ts';
import type { VerificationOverview } from '../../contracts/actions/verification.ts';
import { askNodes } from './node-calls.ts';
import { RowWindow } from './paging.ts';

/**
 * Returns background verifications of all accounts on `nodes`: those that run, then those that
 * ended, the newest first.
 */
export async function listVerifications(
  caller: Caller,
  nodes: Iterable<string>,
  slice: RowRange,
): Promise<TablePage<VerificationOverview> & { unreachable: Unreachable[] }> {
  const found: VerificationOverview[] = [];
  const unreachable: Unreachable[] = [];
  for (const [node, { answer, error }] of await askNodes(caller, 'verification.list', nodes)) {
    if (answer === null) unreachable.push({ node, error });
    else found.push(...answer);
  }
  found.sort(byAge);
  const window = new RowWindow(slice);
  const { from, to } = window.next(found.length);
  return { rows: found.slice(from, to), next: window.nextOffset, unreachable };
}

/** Orders by the time of the end, then of the start; the newest first. */
function byAge(one: VerificationOverview, other: VerificationOverview): number {
  const [a, b] = [one, other].map(({ endedAt, startedAt }) => `${endedAt ?? '~'} ${startedAt}`) as [string, string];
  return a < b ? 1 : a > b ? -1 : 0;
}
