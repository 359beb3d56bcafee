import { expect, test } from '@jest/globals';
import { Tinypool } from 'tinypool';
import type { RequestName } from '../../../../../contracts/requests/requests.ts';
import { LIMITS } from '../../../../../lib/limits.ts';
import decode from '../../../../../services/gateway/bodies/body-worker.ts';

const context = { wallMs: 0, limits: LIMITS, shape: { dimensions: 3, metric: 'cosine' as const } };
const record = { id: 'a', values: [1, 2, 3] };

/** Buffers of all vectors in the value, at any depth. */
function vectorMemory(value: unknown): ArrayBufferLike[] {
  if (ArrayBuffer.isView(value)) return [value.buffer];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(vectorMemory);
}

test.each<[RequestName, number, object]>([
  ['query', 1, { vector: [1, 2, 3] }],
  ['query', 0, { id: 'a' }],
  ['queries', 2, { queries: [{ vector: [1, 2, 3] }, { id: 'a' }, { vector: [1, 2, 3] }] }],
  ['upsert', 1, { records: [record, { ...record, id: 'b' }, record] }],
  ['import', 1, { lines: [{ export: {} }, record, { ...record, namespace: 'n' }] }],
  ['update', 2, { updates: [record, { id: 'b', setMetadata: { a: 1 } }, { ...record, id: 'c' }] }],
  ['update', 0, { filter: { a: 1 }, setMetadata: { b: 1 } }],
  ['fetch', 0, { ids: ['a'] }],
])('the vectors of a body are transferred: %s, %i', (kind, count, body) => {
  const moved = decode({ kind, bytes: new TextEncoder().encode(JSON.stringify(body)), context });
  const { [Tinypool.transferableSymbol]: memory, [Tinypool.valueSymbol]: outcome } = moved as Record<symbol, unknown>;
  expect(outcome).toMatchObject({ status: 'decoded' });
  const held = vectorMemory(outcome);
  expect(memory).toHaveLength(count);
  expect(held).toHaveLength(count);
  expect(held.every((each) => (memory as ArrayBuffer[]).includes(each as ArrayBuffer))).toBe(true);
  // Each buffer contains one vector only and is listed once, so it can be transferred.
  expect(() => structuredClone(outcome, { transfer: memory as ArrayBuffer[] })).not.toThrow();
});
