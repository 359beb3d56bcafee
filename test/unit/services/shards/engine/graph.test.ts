import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readHeader } from '../../../../../services/shards/engine/checkpoint.ts';
import { Graph } from '../../../../../services/shards/engine/graph.ts';
import { IndexSpace } from '../../../../../services/shards/engine/index-space.ts';
import { Shard } from '../../../../../services/shards/engine/shard.ts';
import { propertyRuns } from '../../../../support/effort.ts';
import { writeOutdatedCheckpoint } from '../../../../support/outdated-checkpoint.ts';
import { randomFrom } from '../../../../support/random.ts';
import {
  loadFrom,
  queryIn,
  queryWith,
  saveTo,
  settle,
  specWith,
  upsertOf,
  write,
} from '../../../../support/shard-engine.ts';
import { checkpointIn } from '../../../../support/written-checkpoint.ts';

const DISTINCT = 6;
const SLOTS = 40;
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'provec-graph-'));
  folders.push(folder);
  return folder;
}

/** The slots that searches find: those of the nodes, and the tail. */
function heldBy(graph: Graph): number[] {
  const held = [...graph.tail];
  for (let node = 0; node < graph.nodes; node++)
    for (let slot = graph.firstSlot(node); slot >= 0; slot = graph.nextSlot(slot)) held.push(slot);
  return held.sort((a, b) => a - b);
}

const change = fc.oneof(
  fc.record({ kind: fc.constant('insert' as const), slot: fc.nat(SLOTS - 1), vector: fc.nat(DISTINCT - 1) }),
  fc.record({ kind: fc.constant('remove' as const), slot: fc.nat(SLOTS - 1) }),
  fc.record({ kind: fc.constant('move' as const), slot: fc.nat(SLOTS - 1), to: fc.nat(SLOTS - 1) }),
  fc.record({ kind: fc.constant('grow' as const), most: fc.integer({ min: 1, max: 8 }) }),
);

test('whatever is inserted, removed and moved: each slot is in the graph once, and each distinct vector has one node', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 120 }), (changes) => {
      // The two largest vectors do not fit, and stay in the tail.
      const fit = { center: new Float32Array(2), scale: 1, radius: DISTINCT - 2.5 };
      const graph = new Graph(new IndexSpace('euclidean', 'f16', 2, fit));
      const vectorAt = new Map<number, number>();
      const source = {
        vector: (slot: number) => Float32Array.of(vectorAt.get(slot)!, 1),
        norm: (slot: number) => Math.hypot(vectorAt.get(slot)!, 1),
      };
      const added = new Set<number>();
      for (const change of changes) {
        if (change.kind === 'insert' && !vectorAt.has(change.slot)) {
          vectorAt.set(change.slot, change.vector);
          graph.insert(change.slot);
        } else if (change.kind === 'remove' && vectorAt.delete(change.slot)) {
          graph.remove(change.slot);
        } else if (change.kind === 'move' && vectorAt.has(change.slot) && !vectorAt.has(change.to)) {
          vectorAt.set(change.to, vectorAt.get(change.slot)!);
          vectorAt.delete(change.slot);
          graph.move(change.slot, change.to);
        } else if (change.kind === 'grow') {
          graph.addSlice(source, change.most, 1);
        }
        const tail = new Set(graph.tail);
        const behindNodes = [...vectorAt].filter(([slot]) => !tail.has(slot)).map(([, vector]) => vector);
        for (const vector of behindNodes) added.add(vector);
        expect(heldBy(graph)).toEqual([...vectorAt.keys()].sort((a, b) => a - b));
        expect(graph.liveNodes).toBe(new Set(behindNodes).size);
        expect(graph.nodes).toBe(added.size);
      }
    }),
    { numRuns: propertyRuns(400) },
  );
});

test('a slice looks at a bounded number of outlying vectors, and later slices at the rest', () => {
  const graph = new Graph(new IndexSpace('euclidean', 'f16', 2, { center: new Float32Array(2), scale: 1, radius: 5 }));
  const far = 10_000;
  for (let slot = 0; slot < far + 10; slot++) graph.insert(slot);
  let looked = 0;
  const source = {
    vector(slot: number) {
      looked++;
      return Float32Array.of(slot < far ? 100 + slot : slot - far, 0);
    },
    norm: () => 1,
  };
  let most = 0;
  for (let more = true; more; ) {
    looked = 0;
    more = graph.addSlice(source, 8, 1);
    most = Math.max(most, looked);
  }
  expect(most).toBeLessThan(100);
  expect(graph.unfit).toBe(far + 4);
  expect(graph.nodes).toBe(6);
});

/** 600 records that share 40 vectors, and 600 with a vector each. */
function withCopies() {
  const random = randomFrom(3);
  const few = Array.from({ length: 40 }, () => Float32Array.from({ length: 8 }, random));
  return Array.from({ length: 1_200 }, (_, i) => {
    return i % 2 === 0 ? few[(i / 2) % 40]! : Float32Array.from({ length: 8 }, random);
  });
}

function expectAllFound(shard: Shard, vectors: Float32Array[]): void {
  for (let row = 0; row < vectors.length; row += 7) {
    const query = queryWith(vectors[row]!, { topK: 20 });
    expect(queryIn(shard, query)).toEqual(queryIn(shard, { ...query, exact: true }));
  }
}

function nodesIn(folder: string): number {
  return readHeader(folder).graph!.nodes;
}

test('a checkpoint of a shard with copies loads completely, and needs no new nodes', () => {
  const vectors = withCopies();
  const spec = specWith({ dimensions: 8 });
  const options = { graphMinRecords: 64, scanCostFactor: 1_000 };
  const shard = new Shard(spec, options);
  const records = vectors.map((values, i): [string, { values: number[]; metadata: object }] => {
    return [`r${i}`, { values: [...values], metadata: {} }];
  });
  write(shard, upsertOf(records as Parameters<typeof upsertOf>[0], 8));
  settle(shard);
  const folder = newFolder();
  saveTo(folder, shard);
  const loaded = loadFrom(checkpointIn(folder), spec, options);
  expect(loaded.unindexed).toBe(0);
  expectAllFound(loaded, vectors);
  settle(loaded);
  expectAllFound(loaded, vectors);
  const again = newFolder();
  saveTo(again, loaded);
  // 640 distinct vectors, of which a few may still wait for indexing.
  for (const path of [folder, again]) expect(nodesIn(path)).toBeLessThanOrEqual(640);
});

test("an earlier version's graph, with a node for each copy and inner products, serves until a new one is built", () => {
  const vectors = withCopies();
  const spec = specWith({ dimensions: 8 });
  const options = { graphMinRecords: 64, scanCostFactor: 1_000 };
  const folder = newFolder();
  writeOutdatedCheckpoint(folder, spec, vectors);
  const loaded = loadFrom(checkpointIn(folder), spec, options);
  expect(loaded.hasOutdatedIndex).toBe(true);
  expect(loaded.unindexed).toBe(0);
  expectAllFound(loaded, vectors);
  const added = vectors.slice(0, 200).map((vector) => vector.map((value, i) => value + i));
  write(
    loaded,
    upsertOf(
      added.map((values, i) => [`added${i}`, { values: [...values], metadata: {} }]),
      8,
    ),
  );
  expect(loaded.maintain(50, false)).toBe(false);
  expect(loaded.unindexed).toBe(200);
  expectAllFound(loaded, vectors);
  settle(loaded);
  expect(loaded.hasOutdatedIndex).toBe(false);
  expect(loaded.unindexed).toBe(0);
  expectAllFound(loaded, vectors);
  const again = newFolder();
  saveTo(again, loaded);
  const reloaded = loadFrom(checkpointIn(again), spec, options);
  expect(reloaded.unindexed).toBe(0);
});
