/**
 * Kills a service whose shards are large enough to have an index and checkpoints, while these are
 * being made: whatever a kill cuts short, what was acknowledged is there, what was not is there
 * whole per shard or not at all, searches find what there is and nothing else, and what the ledger
 * says only grows.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ModelRecord, type OpenWrite, UncertainCollection } from '../../simulation/model/uncertain-collection.ts';
import { isThorough } from '../../support/effort.ts';
import { LedgerRelay } from '../../support/ledger-relay.ts';
import { clusteredVectors, randomFrom } from '../../support/random.ts';
import { seed } from '../../support/seed.ts';
import { type ServiceProcess, startProcess } from '../../support/service-process.ts';
import { until } from '../../support/until.ts';

/**
 * In the middle of what a life ends; a graceful stop comes to its end, so that there are whole
 * checkpoints to open from as well.
 */
const LIVES = ['indexing', 'graceful stop', 'rebuild', 'checkpoint at stop', 'checkpoint'] as const;
type Life = (typeof LIVES)[number];

const CRASHES = Number(process.env.PROVEC_TEST_CRASHES ?? (isThorough ? 25 : 3));
const DIMENSIONS = 48;
const GROUPS = 4;
const BATCH = 1_000;
const KILL_DELAY_MAX_MS = 200;
const ATTEMPTS_MAX = 5;
const QUERIES = 12;
const SEARCHED = ['flat', 'split'];
const SCORE_TOLERANCE = 1e-6;
const RECALL_MIN = 0.95;
/** In the metadata of so many records that the log grows past what a checkpoint is taken for. */
const PAD = 'x'.repeat(33_000);
const PADDED_BATCH = 500;
const PADDED_SHARE = 0.65;
/**
 * More than an index tolerates before it is rebuilt, and so few that shards stay too large to be
 * scanned.
 */
const DELETED_SHARE = 0.25;
const COLLECTIONS = [
  { name: 'flat', shards: 1, ids: 5_000 },
  { name: 'split', shards: 2, ids: 9_000 },
  { name: 'heavy', shards: 1, ids: 3_400 },
];

const random = randomFrom(seed);
const below = (limit: number) => Math.floor(random() * limit);
const crashes = Array.from({ length: CRASHES }, (_, number) => LIVES[number % LIVES.length]!);
const parts = { there: 0, lost: 0 };
const recalls: number[] = [];
let stamps = 0;

/**
 * One caller that writes to ids of its own, one request after the other, until the service is gone.
 */
class Writer {
  readonly name: string;
  readonly model: UncertainCollection;
  readonly #ids: string[];
  #planned: OpenWrite[] = [];

  constructor(name: string, model: UncertainCollection, ids: string[]) {
    this.name = name;
    this.model = model;
    this.#ids = ids;
  }

  get isPlanned(): boolean {
    return this.#planned.length > 0;
  }

  /** Will write what is missing, and `share` of the others anew. */
  planUpserts(share: number, pad = ''): void {
    const ids = this.#ids.filter((id) => this.model.get(id) === null || random() < share);
    this.#plan(
      ids.map((id) => [id, recordOf(id, pad)]),
      pad === '' ? BATCH : PADDED_BATCH,
    );
  }

  planDeletes(share: number): void {
    const ids = this.#ids.filter(() => random() < share);
    this.#plan(
      ids.map((id) => [id, null]),
      BATCH,
    );
  }

  /**
   * Writes what is planned, and with `onward` little by little whatever comes, until no answer
   * comes.
   */
  async write(service: ServiceProcess, onward: boolean): Promise<void> {
    while (this.isPlanned || onward) {
      const write = this.#planned[0] ?? this.#little();
      if (!(await this.#send(service, write))) break;
      if (write === this.#planned[0]) this.#planned.shift();
    }
    this.#planned = [];
  }

  async #send(service: ServiceProcess, write: OpenWrite): Promise<boolean> {
    const records = [...write.values()].filter((record) => record !== null);
    const path = `/collections/${this.name}`;
    this.model.begin(write);
    const sent =
      records.length > 0
        ? service.api('POST', `${path}/upsert`, { records })
        : service.api('POST', `${path}/delete`, { ids: [...write.keys()] });
    const answer = await sent.catch(() => null);
    // What a service that stops refuses may have happened all the same.
    if (answer === null || answer.status === 503) return false;
    expect(answer).toMatchObject({ status: 200 });
    this.model.acknowledge(write);
    return true;
  }

  #plan(changes: [string, ModelRecord | null][], batch: number): void {
    for (let at = 0; at < changes.length; at += batch) this.#planned.push(new Map(changes.slice(at, at + batch)));
  }

  #little(): OpenWrite {
    const ids = new Set(Array.from({ length: 1 + below(12) }, () => this.#ids[below(this.#ids.length)]!));
    const isDelete = random() < 0.3;
    return new Map([...ids].map((id) => [id, isDelete ? null : recordOf(id, '')]));
  }
}

/** Multiples of 1/64, so that requests are short; 0 is never negative. */
const VECTORS = clusteredVectors(random, 20_000, DIMENSIONS, 200).map((value) => Math.round(value * 64) / 64 + 0);

function recordOf(id: string, pad: string): ModelRecord {
  const stamp = ++stamps;
  const row = below(VECTORS.length / DIMENSIONS) * DIMENSIONS;
  const values = [...VECTORS.subarray(row, row + DIMENSIONS)];
  return { id, values, metadata: { stamp, group: stamp % GROUPS, pad } };
}

let relay: LedgerRelay;
let service: ServiceProcess;
let isOver = false;
let watching: Promise<void>;
const models = new Map(COLLECTIONS.map(({ name, shards }) => [name, new UncertainCollection(shards)]));
const anchored = new Map<string, { version: number; merkleRoot: string }[]>(COLLECTIONS.map(({ name }) => [name, []]));
const writers = COLLECTIONS.flatMap(({ name, ids }) => {
  const own = Array.from({ length: ids }, (_, number) => `${name}/${number}`);
  const model = models.get(name)!;
  return [new Writer(name, model, own.slice(0, ids / 2)), new Writer(name, model, own.slice(ids / 2))];
});

beforeAll(async () => {
  console.log(`seed ${seed} (PROVEC_TEST_SEED), ${CRASHES} crashes (PROVEC_TEST_CRASHES)`);
  relay = await LedgerRelay.open();
  service = await startProcess({ ...relay.environment, PROVEC_LOG_LEVEL: 'error', PROVEC_ANCHOR_WAIT_MS: '0' });
  const ids = new Map<string, string>();
  for (const { name, shards } of COLLECTIONS) {
    const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', {
      name,
      shards,
      dimensions: DIMENSIONS,
    });
    ids.set(name, body.collection.id);
  }
  for (const writer of writers) writer.planUpserts(0);
  await Promise.all(writers.map((writer) => writer.write(service, false)));
  watching = watchLedger(ids);
});
afterAll(async () => {
  isOver = true;
  await watching;
  await service?.dispose();
  await relay?.close();
});

/** Reads again and again what anybody can read on the ledger, whatever state the service is in. */
async function watchLedger(ids: Map<string, string>): Promise<void> {
  const client = await relay.client('authority');
  while (!isOver) {
    for (const [name, id] of ids) {
      const account = await client.read(id);
      if (account.status === 'found' && account.fields) anchored.get(name)!.push(account.fields);
    }
    await delay(50);
  }
}

async function unindexed(): Promise<number> {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  return Number(/^provec_shards_unindexed_records (\d+)$/m.exec(text)?.[1] ?? 0);
}

/** A checkpoint has been begun and is not in its place yet. */
function isStaged(): boolean {
  try {
    return readdirSync(join(service.dataDir, 'checkpoints', 'staging')).length > 0;
  } catch {
    return false;
  }
}

/**
 * Each of these ends the service with `delayMs` given to what it is to be killed in, and returns
 * whether that was still going on.
 */
async function killWhileIndexing(leastWaiting: number, delayMs: number): Promise<boolean> {
  await until('the index has work', async () => (await unindexed()) >= leastWaiting);
  await delay(delayMs);
  const waiting = await unindexed();
  await service.kill('SIGKILL');
  return waiting > 0;
}

async function killWhileStaged(delayMs: number, ended: Promise<unknown>): Promise<boolean> {
  let isEnded = false;
  void ended.then(() => {
    isEnded = true;
  });
  while (!isEnded && !isStaged()) await delay(1);
  await delay(delayMs);
  await service.kill('SIGKILL');
  return isStaged();
}

async function stop(delayMs: number): Promise<boolean> {
  await delay(delayMs);
  expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  return true;
}

/**
 * Lets the writers write and ends the service; every writer has given up when it returns whether
 * the service was ended in what it should be.
 */
async function live(life: Life, delayMs: number): Promise<boolean> {
  if (life === 'rebuild') {
    await until('the index has caught up', async () => (await unindexed()) === 0);
    for (const name of SEARCHED) await search(name);
  }
  for (const writer of writers) {
    if (life === 'indexing') writer.planUpserts(0.15);
    if (life === 'rebuild') writer.planDeletes(DELETED_SHARE);
    if (life === 'checkpoint' && writer.name === 'heavy') writer.planUpserts(PADDED_SHARE, PAD);
  }
  const writing = Promise.all(writers.map((writer) => writer.write(service, true)));
  const ended = await end(life, delayMs);
  await writing;
  return ended;
}

function end(life: Life, delayMs: number): Promise<boolean> {
  switch (life) {
    case 'indexing':
      return killWhileIndexing(500, delayMs);
    case 'rebuild':
      return killWhileIndexing(2_000, delayMs);
    case 'graceful stop':
      return stop(delayMs);
    case 'checkpoint at stop':
      return killWhileStaged(delayMs / 10, service.kill('SIGTERM'));
    case 'checkpoint':
      return killWhileStaged(delayMs / 10, new Promise(() => undefined));
  }
}

/** Settles what is in doubt, and holds all of a collection against its model. */
async function check(name: string): Promise<void> {
  const model = models.get(name)!;
  const { doubtful } = model;
  const found = new Map<string, ModelRecord>();
  for (let at = 0; at < doubtful.length; at += BATCH) {
    const ids = doubtful.slice(at, at + BATCH);
    const { status, body } = await service.api<{ vectors: Record<string, ModelRecord> }>(
      'POST',
      `/collections/${name}/fetch`,
      { ids },
    );
    expect(status).toBe(200);
    for (const [id, record] of Object.entries(body.vectors)) found.set(id, record);
  }
  const { there, lost } = model.settle(found);
  parts.there += there;
  parts.lost += lost;
  const { body } = await service.api('GET', `/collections/${name}`);
  expect(body.collection).toMatchObject({ merkleRoot: model.root, vector_count: model.size });
}

interface Found {
  matches: { id: string; score: number; metadata: unknown }[];
}

/** Searches must find records as they are, as many as there are, and nearly always the best. */
async function search(name: string): Promise<void> {
  const model = models.get(name)!;
  const { records } = model;
  for (let i = 0; i < QUERIES; i++) {
    const vector = records[below(records.length)]!.values;
    const group = i % 2 === 0 ? null : below(GROUPS);
    const topK = [1, 10, 10, 100][below(4)]!;
    const { status, body } = await service.api<Found>('POST', `/collections/${name}/query`, {
      vector,
      topK,
      ...(group === null ? {} : { filter: { group } }),
    });
    expect(status).toBe(200);
    const best = model.query(vector, records.length, group);
    const scores = new Map(best.map(({ id, score }) => [id, score]));
    const { matches } = body;
    expect(matches).toHaveLength(Math.min(topK, best.length));
    expect(new Set(matches.map(({ id }) => id)).size).toBe(matches.length);
    expect(matches.map(({ metadata }) => metadata)).toEqual(matches.map(({ id }) => model.get(id)?.metadata));
    expect(matches.filter(({ id, score }) => !(Math.abs(score - scores.get(id)!) <= SCORE_TOLERANCE))).toEqual([]);
    const last = best[matches.length - 1]!.score - SCORE_TOLERANCE;
    recalls.push(matches.filter(({ score }) => score >= last).length / matches.length);
  }
}

test('whatever a kill cuts short, what was acknowledged is there, and nothing else, and searches find it', async () => {
  for (const life of crashes) {
    let isHit = false;
    for (let attempt = 0; !isHit && attempt < ATTEMPTS_MAX; attempt++) {
      // Not a wait for anything: the instant of the kill.
      isHit = await live(life, attempt === 0 ? below(KILL_DELAY_MAX_MS) : 0);
      await service.restart();
      for (const name of models.keys()) {
        await check(name);
        // At once: while the index that was saved is all there is, and before what the log did to
        // it is made good.
        if (SEARCHED.includes(name)) await search(name);
      }
    }
    expect({ life, isHit }).toEqual({ life, isHit: true });
  }
  console.log(`of the parts of unanswered writes ${parts.there} were there and ${parts.lost} were not`);
  expect(recalls.reduce((sum, recall) => sum + recall) / recalls.length).toBeGreaterThanOrEqual(RECALL_MIN);
}, 600_000);

test('in the end the ledger has the root of exactly these records, and its versions have only grown', async () => {
  for (const [name, model] of models) {
    const verify = () => service.api('GET', `/collections/${name}/verify`);
    await until('the newest root is anchored', async () => (await verify()).body.state !== 'pending');
    const { body } = await verify();
    expect(body).toMatchObject({ state: 'match', onChainRoot: model.root, vectorCount: model.size });
    const readings = anchored.get(name)!;
    await until('the ledger shows it', () => readings.at(-1)?.version === body.version);
    expect(readings.at(-1)).toMatchObject({ merkleRoot: model.root, vectorCount: model.size });
    const versions = readings.map(({ version }) => version);
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
  }
});
