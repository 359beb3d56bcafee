import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { ShardSpec } from '../../../../../lib/shard/spec.ts';
import { Shard } from '../../../../../services/shards/engine/shard.ts';
import { sizeInMemory } from '../../../../../services/shards/shard/open.ts';
import type { Store } from '../../../../../store/port.ts';
import { settle, specWith, write } from '../../../../support/shard-engine.ts';

function filled(spec: ShardSpec, records: number): Shard {
  const shard = new Shard(spec);
  const { dimensions } = spec;
  const ids = Array.from({ length: records }, () => randomUUID());
  const vectors = Float32Array.from({ length: records * dimensions }, (_, at) => Math.sin(at * at));
  const metadata = ids.map((id) => JSON.stringify({ id, text: 'x'.repeat(40) }));
  write(shard, { kind: 'upsert', batch: { ids, dimensions, vectors, metadata } });
  settle(shard);
  return shard;
}

test.each([
  { dimensions: 2, quantization: 'bf16', records: 4_000 },
  { dimensions: 16, quantization: 'f32', records: 4_000 },
  { dimensions: 384, quantization: 'bf16', records: 2_200 },
  { dimensions: 384, quantization: 'f32', records: 2_200 },
] as const)(
  '$dimensions dimensions in $quantization take about what is reserved for them',
  async ({ records, ...kind }) => {
    const spec = specWith({ ...kind, collectionId: randomUUID() });
    const shard = filled(spec, records);
    const store = { log: { head: async () => shard.head } } as unknown as Store;
    const share = (await sizeInMemory(spec, store)) / shard.bytes;
    expect(share).toBeGreaterThan(0.8);
    expect(share).toBeLessThan(1.2);
  },
);
