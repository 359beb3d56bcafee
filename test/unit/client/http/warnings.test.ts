import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { type ClientOptions, Provec } from '../../../../client/index.ts';

const WARNING = 'No record has the field yaer; did you mean year?';
const WRITTEN = {
  merkleRoot: '0'.repeat(64),
  ledgerProgram: 'p',
  ledgerTx: null,
  ledgerExplorerUrl: null,
  anchor: { status: 'none' },
  version: 1,
  vectorCount: 1,
};
/** Responses by the last part of the path; each contains the warning. */
const ANSWERS: Record<string, object> = {
  count: { count: 0 },
  query: { matches: [] },
  facets: { values: [], missing: 0 },
  list: { records: [] },
  update: { matchedCount: 0, updatedCount: 0, ...WRITTEN },
  delete: { deleted: true, deletedCount: 0, ...WRITTEN },
  upsert: { upsertedCount: 1, ...WRITTEN },
  import: { importedCount: 1, ...WRITTEN },
  queries: { results: [{ matches: [], warnings: [WARNING] }, { matches: [] }] },
};

const fetch: typeof globalThis.fetch = async (url) => {
  const name = String(url).split('/').at(-1)!;
  return new Response(JSON.stringify({ ...ANSWERS[name], ...(name !== 'queries' && { warnings: [WARNING] }) }));
};
const notes = (options: Partial<ClientOptions> = {}) =>
  new Provec({ url: 'http://x', apiKey: 'k', fetch, ...options }).collection('notes');

const filter = { yaer: 1 };
const CALLS: Record<string, (collection: ReturnType<typeof notes>) => Promise<unknown>> = {
  countRecords: (collection) => collection.count({ filter }),
  queryVectors: (collection) => collection.query({ id: 'a', filter }),
  queryMany: (collection) => collection.queryMany({ queries: [{ id: 'a', filter }, { id: 'a' }] }),
  facetRecords: (collection) => collection.facets({ field: 'yaer' }),
  listRecords: (collection) => collection.list({ filter }).all(),
  updateRecords: (collection) => collection.update({ filter, setMetadata: { a: 1 } }),
  deleteVectors: (collection) => collection.delete({ filter }),
  upsertVectors: (collection) => collection.upsert({ records: [{ id: 'a', values: [1] }] }),
  importRecords: (collection) => collection.import('{}'),
};

let written: ReturnType<typeof jest.spyOn>;
beforeEach(() => {
  written = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
});
afterEach(() => {
  written.mockRestore();
});

test.each(Object.entries(CALLS))('onWarning gets the warnings of %s', async (operation, call) => {
  const told: string[][] = [];
  await call(notes({ onWarning: (...each) => told.push(each) }));
  expect(told).toEqual([[WARNING, operation]]);
  expect(written).not.toHaveBeenCalled();
});

test('by default, the console gets each warning once', async () => {
  const collection = notes();
  expect(await collection.count({ filter })).toBe(0);
  for (const call of Object.values(CALLS)) await call(collection);
  expect(written.mock.calls).toEqual([[`Provec: ${WARNING}`]]);
});

test('a call may have its own onWarning', async () => {
  const told: string[] = [];
  const collection = notes({ onWarning: () => told.push('of the client') });
  await collection.count({ filter }, { onWarning: (warning) => told.push(warning) });
  expect(told).toEqual([WARNING]);
});
