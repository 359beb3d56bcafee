import { Index, MetricKind } from 'usearch';
import type { ShardSpec } from '../../lib/shard/spec.ts';
import { writeCheckpoint } from '../../services/shards/engine/checkpoint.ts';
import { IndexSpace } from '../../services/shards/engine/index-space.ts';
import { Shard } from '../../services/shards/engine/shard.ts';
import { Slots } from '../../services/shards/engine/slots.ts';
import { runThrough } from '../../services/shards/steps.ts';
import { upsertOf, write } from './shard-engine.ts';

const NO_FIT = { center: new Float32Array(0), scale: 1 };

/**
 * Writes a checkpoint as an earlier version did for a cosine collection in bf16: a graph that
 * compares by inner product, with a node for each record `r0`, `r1`, ...
 */
export function writeOutdatedCheckpoint(folder: string, spec: ShardSpec, vectors: readonly Float32Array[]): void {
  const { dimensions } = spec;
  const slots = new Slots(dimensions);
  const index = new Index({
    dimensions,
    metric: MetricKind.IP,
    quantization: new IndexSpace('cosine', 'bf16', dimensions, NO_FIT).scalarKind,
    connectivity: 16,
    expansion_add: 200,
    expansion_search: 1,
    multi: false,
  });
  for (const [i, vector] of vectors.entries()) {
    slots.makeLive(slots.allocate(Buffer.from(`r${i}`), vector, Buffer.from('{}'), 1));
    index.add(
      BigInt(i),
      vector.map((value) => value / slots.norm(i)),
      1,
    );
  }
  const shard = new Shard(spec);
  const records = vectors.map((values, i): [string, { values: number[]; metadata: object }] => {
    return [`r${i}`, { values: [...values], metadata: {} }];
  });
  write(shard, upsertOf(records as Parameters<typeof upsertOf>[0], dimensions));
  // Replaces the earlier version's `Graph`, with the members that a checkpoint uses.
  const graph = {
    nodes: vectors.length,
    saved: { nodes: vectors.length, fit: NO_FIT },
    keyOf: (slot: number) => slot,
    save: (file: string) => index.save(file),
  };
  const content = { spec, head: shard.head, slots, words: slots.live.words, seqOf: () => 1 };
  runThrough(writeCheckpoint(folder, content, graph));
}
