/**
 * Loading and saving a checkpoint leave room for other requests. Real speed does not matter: a step
 * takes a simulated quarter of a millisecond.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ShardHead } from '../../../../../lib/shard/head.ts';
import { type ShardKey, shardKey } from '../../../../../lib/shard/key.ts';
import type { AnswerPage, FetchedRecord } from '../../../../../lib/shard/match.ts';
import type { ShardProof } from '../../../../../lib/shard/proof.ts';
import type { ShardWrite } from '../../../../../services/shards/engine/port.ts';
import { queryWith, specWith, type TestRecord, upsertOf } from '../../../../support/shard-engine.ts';
import { checkpointIn } from '../../../../support/written-checkpoint.ts';
import { HostHarness, LOOK_MS } from './shard-host-harness.ts';

const RECORDS = 2_000;
const SLICE_MS = 4;
/** Fewest turns in which steps of one record each can be done. */
const TURNS_MIN = (RECORDS * LOOK_MS) / (SLICE_MS + LOOK_MS);
const SPEC = specWith({ collectionId: 'large', dimensions: 2 });
const CHEAP = queryWith([1, 1], { topK: 1 });
const LARGE = shardKey('large', 0);
const COPY = shardKey('copy', 0);

function records(count: number, first = 0): ShardWrite {
  const all = Array.from({ length: count }, (_, i): [string, TestRecord] => {
    return [`r${first + i}`, { values: [1, first + i], metadata: { n: first + i } }];
  });
  return upsertOf(all, 2);
}

let host: HostHarness;
let small: ShardKey;
let folder: string;
beforeEach(() => {
  host = new HostHarness({ engine: { graphMinRecords: 64 } });
  folder = mkdtempSync(join(tmpdir(), 'provec-checkpoints-'));
  host.open('large');
  host.write(LARGE, records(RECORDS));
  small = host.open('small', { accountId: 'neighbour' });
  host.write(small, records(4));
  host.settle();
});
afterEach(() => rmSync(folder, { recursive: true }));

const headOf = (key: ShardKey): ShardHead => host.result<ShardProof>(host.send('prove', { key, id: 'r0' })).head;
const save = (): number => host.send('save', { key: LARGE, folder });
const load = (): number => host.send('load', { key: COPY, spec: SPEC, checkpoint: checkpointIn(folder) });
const saved = (): ShardHead => {
  const id = save();
  host.turnsUntil(id);
  return host.result(id);
};

/** Gives turns until the request is answered, and asks the neighbour a query before each. */
function turnsBesideQueries(id: number): number {
  let turns = 0;
  for (; !host.isAnswered(id); turns++) {
    expect(host.matches(host.query(small, CHEAP))).toHaveLength(1);
    host.turn();
  }
  return turns;
}

test('a neighbour’s queries are answered while a checkpoint is saved, and no turn is long', () => {
  host.longestTurnMs = 0;
  expect(turnsBesideQueries(save())).toBeGreaterThan(TURNS_MIN);
  expect(host.longestTurnMs).toBeLessThanOrEqual(SLICE_MS + 4 * LOOK_MS);
});

test('a neighbour’s queries are answered while a checkpoint is loaded, and no turn is long', () => {
  const head = saved();
  host.longestTurnMs = 0;
  const loading = load();
  expect(turnsBesideQueries(loading)).toBeGreaterThan(TURNS_MIN);
  expect(host.longestTurnMs).toBeLessThanOrEqual(SLICE_MS + 4 * LOOK_MS);
  expect(host.result(loading)).toEqual(head);
  expect(host.result(host.send('size', { key: COPY }))).toMatchObject({ records: RECORDS, unindexed: 0 });
});

test('writes and reads of the shard itself go on while it is saved, and the checkpoint has none of them', () => {
  const before = headOf(LARGE);
  const saving = save();
  for (let round = 0; !host.isAnswered(saving); round++) {
    // New, changed and deleted records, and some that are rewritten as they were.
    const deleted: ShardWrite = { kind: 'delete', ids: [`r${RECORDS - 1 - round}`] };
    const commit = host.write(LARGE, records(5), records(5, 10_000 + round), deleted);
    expect(host.isAnswered(commit)).toBe(true);
    const fetch = host.send('fetch', { key: LARGE, ids: ['r1', 'absent'], pageMaxBytes: 1e6 });
    expect(host.result<AnswerPage<FetchedRecord>>(fetch).items).toHaveLength(1);
    host.turn();
  }
  expect(headOf(LARGE).seq).toBeGreaterThan(before.seq + 10);
  expect(host.result(saving)).toEqual(before);
  const loading = load();
  host.turnsUntil(loading);
  expect(host.result(loading)).toEqual(before);
  expect(headOf(COPY)).toEqual(before);
});

test.each(['closed', 'replaced'])('what saves or restores a shard ends when the shard is %s', (how) => {
  const end = (key: ShardKey) => {
    if (how === 'closed') host.result(host.send('close', { key }));
    else host.result(host.send('create', { key, spec: SPEC }));
  };
  const saving = save();
  host.turn();
  end(LARGE);
  expect(host.fault(saving).code).toBe('UNAVAILABLE');
  host.settle();

  // Each step takes a slice.
  host = new HostHarness({ monotonicMs: () => (host.nowMs += SLICE_MS + 1) });
  host.open('large');
  const rows = Array.from({ length: RECORDS }, (_, at) => {
    const [vector, metadata, leaf] = [Float32Array.of(1, at), Buffer.from('{}'), Buffer.alloc(32)];
    return { id: `r${at}`, seq: 1, vector, metadata, leaf };
  });
  host.result(host.send('restore', { key: LARGE, records: rows }));
  const restoring = host.send('endRestore', { key: LARGE, seq: 1, version: 1 });
  end(LARGE);
  expect(host.fault(restoring).code).toBe('UNAVAILABLE');
  host.settle();
});

test('closing a shard ends what loads it', () => {
  saved();
  host.result(host.send('close', { key: LARGE }));
  const loading = load();
  host.turn();
  host.result(host.send('close', { key: COPY }));
  expect(host.fault(loading).code).toBe('UNAVAILABLE');
  host.settle();
  expect(host.fault(host.send('size', { key: COPY })).code).toBe('UNAVAILABLE');
});
