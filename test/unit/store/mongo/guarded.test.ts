import { expect, test } from '@jest/globals';
import type { Connection } from '../../../../store/mongo/connection.ts';
import { guarded } from '../../../../store/mongo/guarded.ts';

/**
 * A part whose methods return their names, and the names of those that ran under the connection's
 * guard.
 */
function partOf(name: 'owners' | 'checkpoints' | 'log', methods: string[]) {
  const runs: string[] = [];
  const connection = {
    async run(effect: string, doing: string, work: () => Promise<unknown>) {
      runs.push(`${effect}: ${doing}`);
      return work();
    },
  } as unknown as Connection;
  const part = Object.fromEntries(methods.map((method) => [method, async () => method]));
  return { runs, part: guarded(connection, name, part as never) as unknown as Record<string, () => Promise<string>> };
}

test('every method runs under the guard, except the one that does not use the database', async () => {
  const owners = partOf('owners', ['get', 'list', 'claim', 'release']);
  for (const method of ['get', 'list', 'claim', 'release']) expect(await owners.part[method]!()).toBe(method);
  expect(owners.runs).toEqual([
    'read: reading owners',
    'read: reading owners',
    ...Array(2).fill('write: writing owners'),
  ]);
  const checkpoints = partOf('checkpoints', ['fetch', 'put', 'release']);
  for (const method of ['fetch', 'put', 'release']) await checkpoints.part[method]!();
  expect(checkpoints.runs).toEqual(['read: reading checkpoints', 'write: writing checkpoints']);
});
