/** Routes that the earlier service's SDKs call. */
import { beforeAll, expect, test } from '@jest/globals';
import { type SharedService, shareService } from '../support/shared-service.ts';

let service: SharedService;
beforeAll(async () => {
  service = await shareService('anchored');
  await recall('POST', '/collections', { name: 'memory', dimensions: 2, metric: 'cosine' });
});

async function recall(method: string, path: string, body?: unknown, key = service.key) {
  const response = await fetch(`${service.url}/recall/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
const memory = (method: string, path: string, body?: unknown) => recall(method, `/collections/memory${path}`, body);
const HASH = expect.stringMatching(/^[0-9a-f]{64}$/);

test('upsert, even of nothing, answers with the root in both styles', async () => {
  const records = [
    { id: 'a', values: [1, 0], metadata: { text: 'first' } },
    { id: 'b', values: [0, 1], metadata: {} },
  ];
  const { status, body } = await memory('POST', '/upsert', { records });
  expect([status, body]).toEqual([
    200,
    {
      upsertedCount: 2,
      upserted_count: 2,
      merkleRoot: HASH,
      merkle_root: body.merkleRoot,
      // Empty if the anchor took longer than the response waits for it.
      solanaTx: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]*$/),
      solana_tx: body.solanaTx,
    },
  ]);
  expect((await memory('POST', '/upsert', { records: [] })).body).toMatchObject({
    upsertedCount: 0,
    merkleRoot: body.merkleRoot,
  });
  expect((await memory('POST', '/upsert', { records: [{ id: 'c', values: [1] }] })).body).toMatchObject({
    code: 'DIMENSION_MISMATCH',
    error: 'records[0].values has 1 number, but the collection has 2 dimensions.',
  });
});

test('query accepts nulls, and fetch returns a score', async () => {
  const asked = { vector: [1, 0], topK: 1, filter: null, includeValues: true };
  expect((await memory('POST', '/query', asked)).body).toEqual({
    matches: [{ id: 'a', score: 1, metadata: { text: 'first' }, values: [1, 0] }],
  });
  expect((await memory('POST', '/query', { ...asked, filter: { text: 'none' } })).body).toEqual({ matches: [] });
  expect((await memory('POST', '/fetch', { ids: ['b', 'none'] })).body).toEqual({
    vectors: { b: { id: 'b', score: 1, values: [0, 1], metadata: {} } },
  });
});

test('a misspelt field is refused, and one that no client knows is ignored', async () => {
  const asked = { vector: [1, 0], topK: 1 };
  for (const name of ['fliter', 'Filter', 'top_k']) {
    const { status, body } = await memory('POST', '/query', { ...asked, [name]: null });
    expect([status, body.error]).toEqual([400, expect.stringMatching(`^${name} is not a field .*; did you mean`)]);
  }
  const record = { id: 'z', values: [1, 0] };
  expect((await memory('POST', '/upsert', { recrods: [record], records: [] })).status).toBe(400);
  expect((await memory('POST', '/query', { ...asked, session: 'a' })).status).toBe(200);
});

test('verify and inspect return what the service knows, in both styles', async () => {
  const { body: verdict } = await memory('GET', '/verify');
  expect(verdict).toEqual({
    verified: true,
    match: true,
    localRoot: HASH,
    local_root: verdict.localRoot,
    onChainRoot: verdict.localRoot,
    on_chain_root: verdict.localRoot,
    vectorCount: 2,
    vector_count: 2,
    solanaExplorerUrl: '',
    solana_explorer_url: verdict.solanaExplorerUrl,
    timestamp: expect.any(Number),
    state: 'match',
  });
  expect((await memory('GET', '/inspect?limit=50&offset=0')).body).toMatchObject({
    stats: {
      totalMemories: 2,
      total_memories: 2,
      dimensions: 2,
      current_merkle_root: verdict.localRoot,
      on_chain_root: verdict.localRoot,
      roots_match: true,
      last_chain_sync_at: expect.any(Number),
      encrypted: false,
    },
    totalMatching: 2,
    total_matching: 2,
  });
});

test('delete returns counts in both styles; an unknown key and an unknown collection are refused as usual', async () => {
  expect((await memory('POST', '/delete', { ids: ['a', 'none'] })).body).toMatchObject({
    deletedCount: 1,
    deleted_count: 1,
    merkle_root: HASH,
  });
  expect((await recall('GET', '/collections/none/verify')).status).toBe(404);
  expect((await recall('GET', '/collections/memory/verify', undefined, 'pv_live_none')).status).toBe(401);
  expect((await recall('GET', '/nothing')).status).toBe(404);
});
