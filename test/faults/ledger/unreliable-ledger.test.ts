/**
 * A ledger that is down for a while, or lies. Seen in earlier systems: verify compares stored data
 * with stored data and never asks the ledger; a failed anchor is never retried.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { UpsertResult } from '../../../contracts/actions/collections.ts';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import type { ConfirmedAnchor } from '../../../store/anchors.ts';
import { LedgerRelay } from '../../support/ledger-relay.ts';
import { startService, type TestService } from '../../support/service.ts';
import { ADMIN_TOKEN, operatorApi } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';

const FORGED = 'ab'.repeat(32);

let relay: LedgerRelay;
let service: TestService;
let before: VerifyResult;
let collectionId: string;
const create = async (name: string) => {
  const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', { name, dimensions: 2 });
  return body.collection.id;
};
const upsert = (name: string, id: string) =>
  service.api<UpsertResult>('POST', `/collections/${name}/upsert`, {
    records: [{ id, values: [1, 2], metadata: { n: 1 } }],
  });
const verify = async () => (await service.api<VerifyResult>('GET', '/collections/demo/verify')).body;

beforeAll(async () => {
  relay = await LedgerRelay.open();
  service = await startService({
    ...relay.environment,
    PROVEC_ANCHOR_WAIT_MS: '300',
    PROVEC_ADMIN_TOKEN: ADMIN_TOKEN,
  });
  collectionId = await create('demo');
  await upsert('demo', 'a');
  before = await until('it is anchored', async () => {
    const answer = await verify();
    return answer.state !== 'pending' && answer;
  });
  expect(before).toMatchObject({ state: 'match', verified: true });
});
afterAll(async () => {
  await service.stop();
  await relay.close();
});

/** Changes the root in every account that the ledger returns. */
function forgedRoot(method: string, answer: string): string {
  if (method !== 'getAccountInfo') return answer;
  const parsed = JSON.parse(answer) as { result: { value: { data: [string, string] } | null } };
  const { value } = parsed.result;
  if (value === null) return answer;
  const data = Buffer.from(value.data[0], 'base64');
  const at = data.indexOf(before.onChainRoot!);
  expect(at).toBeGreaterThan(0);
  data.write(FORGED, at);
  value.data[0] = data.toString('base64');
  return JSON.stringify(parsed);
}

test('every verify reads the account', async () => {
  let reads = 0;
  relay.rewrite = (method, answer) => {
    if (method === 'getAccountInfo') reads += 1;
    return answer;
  };
  for (let run = 1; run <= 2; run++) {
    const earlier = reads;
    await verify();
    expect(reads).toBeGreaterThan(earlier);
  }
  relay.rewrite = null;
});

test('another root on the ledger is shown, and is a mismatch', async () => {
  relay.rewrite = forgedRoot;
  expect(await verify()).toMatchObject({
    state: 'mismatch',
    verified: false,
    match: false,
    onChainRoot: FORGED,
    computedRoot: before.computedRoot,
  });
  relay.rewrite = null;
  expect(await verify()).toMatchObject({ state: 'match' });
});

test('what the store says is confirmed proves nothing if the ledger cannot be asked', async () => {
  relay.isDown = true;
  expect(await verify()).toMatchObject({ state: 'unreachable', verified: false, match: false, onChainRoot: null });
  relay.isDown = false;
  expect(await verify()).toMatchObject({ state: 'match' });
});

test("the operator sees the authority's balance, and that the ledger does not say it", async () => {
  const ledger = async () => (await operatorApi(service)('GET', '/admin/ledger')).body;
  const authority = await relay.client('authority');
  expect(await ledger()).toMatchObject({ enabled: true, lamports: Number(await authority.balance()) });
  relay.isDown = true;
  expect(await ledger()).toMatchObject({ enabled: true, lamports: null });
  relay.isDown = false;
});

describe.each([
  ['the service runs on', 1],
  ['the service is restarted while the ledger is down', 2],
])('%s', (course, number) => {
  const NAMES = ['anchored-before', 'never-anchored'].map((name) => `${name}-${number}`) as [string, string];
  const ids = new Map<string, string>();
  const roots = new Map<string, string>();

  beforeAll(async () => {
    for (const name of NAMES) ids.set(name, await create(name));
    await upsert(NAMES[0], 'early');
    relay.isDown = true;
  });

  test('writes made while the ledger is down are stored, and say pending', async () => {
    for (const name of NAMES) {
      const { status, body } = await upsert(name, 'late');
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { upsertedCount: 1, anchor: { status: 'pending' }, ledgerTx: null, ledgerExplorerUrl: null },
      });
      roots.set(name, body.merkleRoot);
    }
    const deleted = await service.api('POST', `/collections/${NAMES[0]}/delete`, { ids: ['early'] });
    expect(deleted.body).toMatchObject({ deletedCount: 1, anchor: { status: 'pending' } });
    roots.set(NAMES[0], deleted.body.merkleRoot as string);
  });

  test('they are anchored once it is back, without another request', async () => {
    if (course !== 'the service runs on') await service.restart();
    relay.isDown = false;
    const client = await relay.client('authority');
    for (const name of NAMES) {
      await until(`${name} is anchored`, async () => {
        const account = await client.read(ids.get(name)!);
        return account.status === 'found' && account.fields?.merkleRoot === roots.get(name);
      });
      const { body } = await service.api<VerifyResult>('GET', `/collections/${name}/verify`);
      expect(body).toMatchObject({ state: 'match', onChainRoot: roots.get(name) });
    }
  });
});

describe('an unusable ledger does not slow queries', () => {
  const NAME = 'asked-meanwhile';
  const query = (id: string) => service.api('POST', `/collections/${NAME}/query`, { id, topK: 3, includeValues: true });
  let wanted: unknown;
  const SLOW_MS = 5_000;
  /** Releases the held responses. */
  let release: () => void = () => undefined;

  beforeAll(async () => {
    await create(NAME);
    for (const id of ['x', 'y', 'z']) await upsert(NAME, id);
    wanted = (await query('x')).body;
    expect(wanted).toMatchObject({ matches: [{ id: 'x' }, { id: 'y' }, { id: 'z' }] });
  });

  test.each<{ what: string; begin: () => void }>([
    {
      what: 'down',
      begin: () => {
        relay.isDown = true;
      },
    },
    {
      what: 'taking 5 s an answer',
      begin: () => {
        const released = new Promise<void>((resolve) => {
          release = resolve;
        });
        relay.intercept = async ({ forward }) => {
          await Promise.race([released, delay(SLOW_MS)]);
          return forward();
        };
      },
    },
    {
      what: 'answering nonsense',
      begin: () => {
        relay.intercept = async () => '{"jsonrpc":"2.0","id":1,"result":{"value":[[["nonsense"]]]}}';
      },
    },
    {
      what: 'answering no JSON',
      begin: () => {
        relay.intercept = async () => '<html>';
      },
    },
  ])(
    '$what: queries are answered as usual, a write says pending, and is anchored in the end',
    async ({ what, begin }) => {
      begin();
      expect((await query('x')).body).toEqual(wanted);
      const written = await upsert(NAME, 'x');
      expect(written).toMatchObject({ status: 200, body: { upsertedCount: 1, anchor: { status: 'pending' } } });
      expect((await query('x')).body).toEqual(wanted);
      expect(await verify()).toMatchObject({ verified: false, match: false });
      relay.isDown = false;
      relay.intercept = null;
      release();
      const verifyIt = async () => (await service.api<VerifyResult>('GET', `/collections/${NAME}/verify`)).body;
      await until(`it is anchored although the ledger was ${what}`, async () => (await verifyIt()).state === 'match');
    },
  );
});

test('a changed row in the store is a mismatch, and stays one', async () => {
  const { anchors } = service.provec.store;
  const row = (await anchors.get(collectionId))!;
  const cut = row.confirmed!.cut.map((head) => ({ ...head, hash: Buffer.from(FORGED, 'hex') }));
  const confirmed: ConfirmedAnchor = { ...row.confirmed!, cut, merkleRoot: FORGED };
  expect(await anchors.put({ ...row, revision: row.revision + 1, confirmed })).toBe(true);
  const mismatch = { state: 'mismatch', verified: false, onChainRoot: before.onChainRoot };
  expect(await verify()).toMatchObject(mismatch);
  await service.restart();
  expect(await verify()).toMatchObject(mismatch);
});

test('a ledger that accepts no transactions is still asked for statuses and the height', async () => {
  const NAME = 'refused-meanwhile';
  await create(NAME);
  const asked: string[] = [];
  let refusals = 0;
  relay.intercept = async (passing) => {
    const { method } = JSON.parse(passing.asked) as { method: string };
    if (refusals > 0) asked.push(method);
    if (method !== 'sendTransaction') return passing.forward();
    refusals += 1;
    return '{"jsonrpc":"2.0","id":"1","error":{"code":-32003,"message":"Transaction signature verification failure"}}';
  };
  await upsert(NAME, 'x');
  await until('status and height are asked for', () =>
    ['getSignatureStatuses', 'getEpochInfo'].every((method) => asked.includes(method)),
  );
  relay.intercept = null;
  const verifyIt = async () => (await service.api<VerifyResult>('GET', `/collections/${NAME}/verify`)).body;
  await until('it is anchored', async () => (await verifyIt()).state === 'match');
});
