import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { VerifyResult } from '../../../../contracts/actions/verification.ts';
import { INTERNAL_LIMITS } from '../../../../lib/limits.ts';
import { SYSTEM_CLOCK } from '../../../../lib/time/clock.ts';
import { ScanProgress } from '../../../../services/verification/scan-progress.ts';
import { Verifications } from '../../../../services/verification/verifications.ts';
import { newCollection } from '../../../contract/store-rows.ts';
import { until } from '../../../support/until.ts';

const { verificationsMax } = INTERNAL_LIMITS;
const RESULT = { state: 'match' } as VerifyResult;

/** Verifications whose verdicts come when the test says so. */
function held() {
  const runs: PromiseWithResolvers<VerifyResult>[] = [];
  const begin = () => {
    const run = Promise.withResolvers<VerifyResult>();
    runs.push(run);
    return { progress: new ScanProgress(1), result: run.promise };
  };
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  return { runs, lines, verifications: new Verifications({ begin }, { clock: SYSTEM_CLOCK, log }) };
}
const collectionOf = (accountId: string) => newCollection({ accountId });

test('an account has up to two thirds of the places, others have the rest, and an end frees one', async () => {
  const { runs, verifications } = held();
  const fill = (accountId: string): number => {
    for (let count = 0; ; count++) {
      try {
        verifications.begin(collectionOf(accountId), 1, `${accountId} ${count}`);
      } catch (error) {
        expect(error).toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: expect.any(Number) });
        return count;
      }
    }
  };
  const first = fill('ann');
  expect(first).toBe(Math.floor((2 * verificationsMax) / 3));
  for (let at = 0; runs.length < verificationsMax; at++) expect(fill(`account ${at}`)).toBeGreaterThan(0);
  expect(fill('late')).toBe(0);
  for (const { resolve } of runs.slice(0, first)) resolve(RESULT);
  await until('there is room', () => fill('late') > 0);
});

test('a failure while the process stops is not reported as a fault', async () => {
  const { runs, lines, verifications } = held();
  const [one, two] = [collectionOf('ann'), collectionOf('ann')];
  verifications.begin(one, 1, 'one');
  verifications.begin(two, 1, 'two');
  runs[0].reject(new Error('a defect'));
  await until('it failed', () => verifications.find(one.id, 'one')?.state === 'failed');
  expect(lines).toEqual([expect.stringContaining('a verification failed')]);
  verifications.stop();
  runs[1].reject(new Error('a connection'));
  await until('it failed', () => verifications.find(two.id, 'two')?.state === 'failed');
  expect(lines).toHaveLength(1);
});

test('the list has those that run, then those that ended, the newest first', async () => {
  const { runs, verifications } = held();
  const rows = ['one', 'two', 'three'].map((name) => newCollection({ accountId: 'ann', name }));
  for (const row of rows) verifications.begin(row, 7, row.name);
  runs[0].reject(new Error('a defect'));
  await until('the first failed', () => verifications.find(rows[0].id, 'one')?.state === 'failed');
  runs[1].resolve(RESULT);
  await until('the second ended', () => verifications.find(rows[1].id, 'two')?.state === 'done');
  const time = expect.stringMatching(/^\d{4}-.*Z$/);
  const common = { startedAt: time, endedAt: time, verdict: null, error: null };
  const overview = (at: number) => ({ collectionId: rows[at].id, collection: `ann/${rows[at].name}` });
  expect(verifications.list()).toEqual([
    { ...common, ...overview(2), id: 'three', state: 'running', progress: { scanned: 0, total: 7 }, endedAt: null },
    { ...common, ...overview(1), id: 'two', state: 'done', progress: { scanned: 7, total: 7 }, verdict: 'match' },
    {
      ...{ ...common, ...overview(0), id: 'one', state: 'failed', progress: { scanned: 0, total: 7 } },
      error: expect.any(String),
    },
  ]);
});
