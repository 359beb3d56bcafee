import type { Api } from './api-client.ts';
import type { Json } from './api-document.ts';

const DIMENSIONS = 256;
const RECORDS = 20_000;
const BATCH = 500;
const NAMESPACES = 20_000;
const NAMESPACES_BATCH = 200;
const KEYS = 1_000;
const COLLECTIONS = 300;
const SHARDS = 4;

export const idOf = (at: number): string => `${'record-'.repeat(60)}${at}`;
export const namespaceOf = (at: number): string => `${'namespace-'.repeat(20)}${at}`;
export const longText = (at: number, length: number): string =>
  `${'common '.repeat(Math.ceil(length / 7))}`.slice(0, length) + at;
export const vectorOf = (at: number): number[] =>
  Array.from({ length: DIMENSIONS }, (_, axis) => Math.sin(at * 131 + axis));

const recordOf = (at: number): Json => ({
  id: idOf(at),
  values: vectorOf(at),
  metadata: {
    at,
    group: longText(at % 1_000, at < 2_000 ? 8_000 : 40),
    list: Array.from({ length: 20 }, (_, i) => `${at % 7}-${i}`),
  },
});

/** Fills a service with a collection `docs` that makes operations on it costly. */
export async function makeWorstCollection(api: Api): Promise<void> {
  await api('POST', '/collections', { name: 'docs', dimensions: DIMENSIONS, shards: SHARDS });
  for (let from = 0; from < RECORDS; from += BATCH)
    await api('POST', '/collections/docs/upsert', {
      records: Array.from({ length: BATCH }, (_, at) => recordOf(from + at)),
    });
  for (let from = 0; from < NAMESPACES; from += NAMESPACES_BATCH)
    await Promise.all(
      Array.from({ length: NAMESPACES_BATCH }, (_, at) =>
        api('POST', '/collections/docs/upsert', {
          namespace: namespaceOf(from + at),
          records: [{ id: 'only', values: vectorOf(at) }],
        }),
      ),
    );
  for (let at = 0; at < KEYS; at++) await api('POST', '/keys', { name: `key ${at}`, scopes: ['read'] });
  for (let at = 0; at < COLLECTIONS; at++) await api('POST', '/collections', { name: `empty-${at}`, dimensions: 2 });
  await api('PUT', '/aliases/current', { collection: 'docs' });
}
