import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { EMPTY_HEAD } from '../../lib/shard/head.ts';
import type { ShardEngine, ShardWriter } from '../../services/shards/engine/port.ts';
import { runThrough } from '../../services/shards/steps.ts';
import { clusteredVectors, randomFrom } from '../support/random.ts';
import {
  idsIn,
  leafIn,
  queryIn,
  queryWith,
  saveTo,
  settle,
  specWith,
  type TestRecord,
  upsertOf,
  write,
} from '../support/shard-engine.ts';
import { checkpointIn } from '../support/written-checkpoint.ts';
import type { MakeEngine } from './engine-contract.ts';

const SPEC = specWith({ dimensions: 8, metric: 'euclidean' });
/** Number of bytes flipped, one at a time, in each file of a checkpoint. */
const FLIPS = 15;

/** Checkpoints, and what becomes of damaged ones. */
export function checkpointsContract(make: MakeEngine): void {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });
  const temporaryFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'provec-shard-'));
    folders.push(folder);
    return folder;
  };

  const random = randomFrom(11);
  const spec = SPEC;
  const vectors = clusteredVectors(random, 700, 8, 12);
  const some = (from: number, to: number): [string, TestRecord][] =>
    Array.from({ length: to - from }, (_, i) => {
      const values = [...vectors.subarray((from + i) * 8, (from + i + 1) * 8)];
      return [`id ${from + i} 🜁`, { values, metadata: { n: from + i, parity: (from + i) % 2 === 0 ? 'even' : 'odd' } }];
    });
  const query = (i: number) =>
    queryWith(vectors.subarray(i * 8, i * 8 + 8), {
      filter: { n: { $gt: 20 } },
      includeMetadata: true,
      includeValues: true,
    });

  test.each(['always', 'never'] as const)(
    'a loaded shard answers and goes on as the saved one did, indexed: %s',
    (index) => {
      const engine = make({ index });
      const saved = engine.create(spec);
      write(saved, upsertOf(some(0, 400), 8));
      settle(saved);
      write(saved, upsertOf(some(400, 500), 8), { kind: 'delete', ids: some(0, 30).map(([id]) => id) });
      const folder = temporaryFolder();
      saveTo(folder, saved);
      const loaded = load(engine, folder);
      expect(loaded.head).toEqual(saved.head);
      expect(leafIn(loaded, 'id 450 🜁')).toEqual(leafIn(saved, 'id 450 🜁'));
      for (let i = 0; i < 500; i += 25) expect(queryIn(loaded, query(i))).toEqual(queryIn(saved, query(i)));
      for (const shard of [saved, loaded]) {
        write(shard, upsertOf(some(500, 700), 8), { kind: 'delete', ids: some(100, 300).map(([id]) => id) });
        settle(shard);
      }
      expect(loaded.head).toEqual(saved.head);
      for (let i = 0; i < 700; i += 25) {
        expect(queryIn(loaded, { ...query(i), exact: true })).toEqual(queryIn(saved, { ...query(i), exact: true }));
      }
    },
  );

  test('an empty shard and a sealed seq survive', () => {
    const engine = make();
    const shard = engine.create(spec);
    runThrough(shard.endRestore(12, 12));
    const folder = temporaryFolder();
    saveTo(folder, shard);
    expect(load(engine, folder).head).toEqual({ ...EMPTY_HEAD, seq: 12, version: 12 });
  });

  test('a checkpoint has the state at its first step, whatever is written until its last', () => {
    const engine = make({ index: 'always' });
    const shard = engine.create(spec);
    write(shard, upsertOf(some(0, 300), 8));
    settle(shard);
    const { head } = shard;
    const matches = queryIn(shard, { ...query(0), exact: true });
    const folder = temporaryFolder();
    const steps = shard.checkpoint(folder);
    let writes = 0;
    for (let step = 0; ; step++) {
      const { done, value } = steps.next();
      if (done) {
        expect(value).toEqual(head);
        break;
      }
      if (step % 20 > 0) continue;
      writes++;
      const from = (writes * 7) % 250;
      // Changed records, a record that is rewritten as it was, new records, and deleted ones.
      write(shard, upsertOf(some(from, from + 3), 8), { kind: 'delete', ids: [some(from + 9, from + 10)[0]![0]] });
      write(shard, upsertOf([...some(290, 291), ['new', { values: Array(8).fill(step), metadata: { step } }]], 8));
      settle(shard);
    }
    expect(writes).toBeGreaterThan(5);
    const loaded = load(engine, folder);
    expect(loaded.head).toEqual(head);
    expect(queryIn(loaded, { ...query(0), exact: true })).toEqual(matches);
    for (const id of idsIn(loaded)) expect(leafIn(loaded, id)?.seq).toBe(1);
  });

  test('a checkpoint that is given up leaves the shard as it was', () => {
    const shard = make({ index: 'always' }).create(spec);
    write(shard, upsertOf(some(0, 300), 8));
    settle(shard);
    const matches = queryIn(shard, query(0));
    const { bytes } = shard;
    const steps = shard.checkpoint(temporaryFolder());
    for (let step = 0; step < 10; step++) expect(steps.next().done).toBe(false);
    steps.return(shard.head);
    expect(shard.bytes).toBe(bytes);
    expect(queryIn(shard, query(0))).toEqual(matches);
  });

  test('foreign, incomplete and damaged checkpoints are refused, or do no harm', () => {
    const engine = make({ index: 'always' });
    const shard = engine.create(spec);
    write(shard, upsertOf(some(0, 200), 8));
    settle(shard);
    const folder = temporaryFolder();
    saveTo(folder, shard);
    const checkpoint = checkpointIn(folder);
    for (const changes of [
      { collectionId: 'other' },
      { index: 1, of: 2 },
      { dimensions: 4 },
      { metric: 'dot' as const },
    ])
      expect(() => runThrough(engine.load(checkpoint, { ...spec, ...changes }))).toThrow();
    expect(() => load(engine, temporaryFolder())).toThrow();
    const matches = queryIn(shard, { ...query(0), exact: true });
    for (const { name } of checkpoint.files) {
      const file = join(folder, name);
      const sound = readFileSync(file);
      rmSync(file);
      expect(() => runThrough(engine.load(checkpoint, spec))).toThrow();
      for (const length of [0, 4, 40, sound.length >> 1, sound.length - 1]) {
        writeFileSync(file, sound.subarray(0, length));
        expect(() => runThrough(engine.load(checkpoint, spec))).toThrow();
      }
      for (let flip = 0; flip < FLIPS; flip++) {
        const flipped = Buffer.from(sound);
        flipped[Math.floor(random() * sound.length)]! ^= 1 << Math.floor(random() * 8);
        writeFileSync(file, flipped);
        let loaded: ShardWriter;
        try {
          loaded = runThrough(engine.load(checkpoint, spec));
        } catch {
          continue;
        }
        // The byte was none that a record depends on.
        expect(loaded.head.hash).toEqual(shard.head.hash);
        expect(queryIn(loaded, { ...query(0), exact: true })).toEqual(matches);
      }
      writeFileSync(file, sound);
    }
    expect(load(engine, folder).head).toEqual(shard.head);
  });
}

function load(engine: ShardEngine, folder: string): ShardWriter {
  return runThrough(engine.load(checkpointIn(folder), SPEC));
}
