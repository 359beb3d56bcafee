import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { expectDurationBelow } from '../../support/duration.ts';
import { isThorough } from '../../support/effort.ts';
import { CutOffError, expectRefusal, hostileRequest, LOOP_HELD_MAX_MS } from '../../support/hostile-request.ts';
import { type HostileService, hostileService } from '../../support/hostile-service.ts';

const MIB = 1024 * 1024;
const DIMENSIONS = 8_192;
const UPSERT = '/collections/demo/upsert';

let service: HostileService;
beforeAll(async () => {
  // A service that no other file writes to, so that these bodies do not get others refused.
  service = await hostileService('unmanaged');
  await service.api('POST', '/collections', { name: 'demo', dimensions: DIMENSIONS });
});
afterAll(() => service.stop());

const send = (path: string, body: string | Buffer | number) => hostileRequest(service, 'POST', path, body);

/**
 * Sends until the response arrives. The client may find the connection closed instead, because the
 * response was sent while it was still sending.
 */
async function refusedOrCutOff(body: Buffer | number): Promise<void> {
  try {
    expectRefusal(await send(UPSERT, body), 'BODY_TOO_LARGE');
  } catch (error) {
    if (!(error instanceof CutOffError)) throw error;
  }
}

test('refuses 100 MB, with a declared length or without', async () => {
  await refusedOrCutOff(Buffer.alloc(100 * MIB, ' '));
  await refusedOrCutOff(100 * MIB);
  expect(await service.api('GET', '/collections/demo')).toMatchObject({ status: 200 });
});

/** As large as a body may be; in the gate a third of that. */
const RECORDS = isThorough ? 1_000 : 300;

test('accepts an upsert of many megabytes, and serves others meanwhile', async () => {
  const row = Array.from({ length: DIMENSIONS }, (_, at) => `0.${String(1000 + at).slice(-4)}`).join();
  const records = Array.from(
    { length: RECORDS },
    (_, at) => `{"id":"r${at}","values":[${row}],"metadata":{"at":${at}}}`,
  );
  const body = Buffer.from(`{"records":[${records.join()}]}`);
  expect(body.length).toBeGreaterThan(RECORDS * 54 * 1024);
  const upsert = async (): Promise<number> => {
    let isDone = false;
    const answer = send(UPSERT, body).finally(() => {
      isDone = true;
    });
    let served = 0;
    while (!isDone) {
      expect(await service.api('GET', '/usage')).toMatchObject({ status: 200 });
      served += 1;
    }
    const { status, text, heldMs } = await answer;
    expect({ status, body: JSON.parse(text) }).toMatchObject({ status: 200, body: { upsertedCount: RECORDS } });
    expect(served).toBeGreaterThan(isThorough ? 5 : 0);
    return heldMs;
  };
  // Copying 32 MB takes several times as long while a neighbour uses the memory bus, so only the
  // best of several attempts counts.
  let heldMs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < (isThorough ? 4 : 1) && heldMs >= LOOP_HELD_MAX_MS; attempt++)
    heldMs = Math.min(heldMs, await upsert());
  expectDurationBelow(heldMs, LOOP_HELD_MAX_MS);
});

describe('too many elements', () => {
  const ids = (count: number) => JSON.stringify({ ids: Array.from({ length: count }, (_, at) => `r${at}`) });
  // Built when they are sent: together they would fill a worker's heap.
  test.each<[string, string, () => string]>([
    ['100,000 ids to fetch', '/collections/demo/fetch', () => ids(100_000)],
    ['100,000 ids to delete', '/collections/demo/delete', () => ids(100_000)],
    ['1,001 ids', '/collections/demo/fetch', () => ids(1_001)],
    ['a million ids', '/collections/demo/fetch', () => `{"ids":[${'"a",'.repeat(1_000_000)}"a"]}`],
    ['a million empty records', UPSERT, () => `{"records":[${'{},'.repeat(1_000_000)}{}]}`],
    ['five million values', UPSERT, () => `{"records":[{"id":"a","values":[${'1,'.repeat(5_000_000)}1]}]}`],
    ['200,000 fields', UPSERT, () => `{${Array.from({ length: 200_000 }, (_, at) => `"f${at}":1`).join()}}`],
    ['an id of 50 MB', '/collections/demo/fetch', () => `{"ids":["${'x'.repeat(50 * MIB)}"]}`],
    [
      'metadata of 50 MB',
      UPSERT,
      () => `{"records":[{"id":"a","values":[1],"metadata":{"a":"${'x'.repeat(50 * MIB)}"}}]}`,
    ],
  ])('%s', async (_, path, bodyOf) => {
    const answer = await send(path, Buffer.from(bodyOf()));
    const { code } = JSON.parse(answer.text) as { code: 'INVALID_ARGUMENT' | 'DIMENSION_MISMATCH' | 'BODY_TOO_LARGE' };
    expect(['INVALID_ARGUMENT', 'DIMENSION_MISMATCH', 'BODY_TOO_LARGE']).toContain(code);
    expectRefusal(answer, code);
  });

  test('a name of one megabyte', async () => {
    expectRefusal(await send('/collections', `{"name":"${'x'.repeat(MIB)}","dimensions":2}`), 'INVALID_ARGUMENT');
    expectRefusal(await send('/collections', `{"name":"${'x'.repeat(200_000)}","dimensions":2}`), 'INVALID_ARGUMENT');
  });
});
