/**
 * Kills a service while its large shards write indexes and checkpoints. Afterwards every
 * acknowledged write must be present, unacknowledged writes must be complete or missing per shard,
 * searches must find exactly the existing records, and on-chain versions must only grow.
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
 * What each life of the service is interrupted in. A graceful stop completes, so that there are
 * also complete checkpoints to open from.
 */
const LIVES = ['indexing', 'graceful stop', 'rebuild', 'checkpoint at stop', 'checkpoint'] as const;
type Life = (typeof LIVES)[number];

const CRASHES = Number(process.env.PROVEC_TEST_CRASHES ?? (isThorough ? 25 : 3));
const DIMENSIONS = 48;
const GROUPS = 4;
const BATCH = 1_000;
const KILL_DELAY_MAX_MS = 200;
const ATTEMPTS_MAX = 20;
const QUERIES = 12;
const SEARCHED = ['flat', 'split'];
const SCORE_TOLERANCE = 1e-6;
const RECALL_MIN = 0.95;
/** Metadata of enough records that the log outgrows the size at which a checkpoint is taken. */
const PAD = 'x'.repeat(33_000);
const PADDED_BATCH = 500;
const PADDED_SHARE = 0.65;
/**
 * More than an index tolerates before it is rebuilt, but so few that shards stay too large to be
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

/** A client that writes to its own ids, one request at a time, until the service is gone. */
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

  /** Plans to write all missing records, and `share` of the others again. */
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
   * Writes what is planned and, with `onward`, continues with small writes. Stops when no response
   * arrives.
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
    // A stopping service may have applied a request that it refuses.
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

/** Repeatedly reads the collections' accounts on the ledger, whatever state the service is in. */
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

/** Whether a checkpoint has been started but is not in place yet. */
function isStaged(): boolean {
  try {
    return readdirSync(join(service.dataDir, 'checkpoints', 'staging')).length > 0;
  } catch {
    return false;
  }
}

/**
 * Each function kills the service `delayMs` into a certain activity, and returns whether that
 * activity was still going on.
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
 * Lets the writers write and ends the service. Returns, after every writer has given up, whether
 * the service was ended during the intended activity.
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

/** Settles uncertain writes, and compares the whole collection with its model. */
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

/** Searches must return existing records only, as many as there are, and nearly always the best. */
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

test('after any kill, the acknowledged writes are there, and nothing else, and searches find them', async () => {
  for (const life of crashes) {
    let isHit = false;
    for (let attempt = 0; !isHit && attempt < ATTEMPTS_MAX; attempt++) {
      // A random time of the kill, not a wait for a condition.
      isHit = await live(life, attempt === 0 ? below(KILL_DELAY_MAX_MS) : 0);
      await service.restart();
      for (const name of models.keys()) {
        await check(name);
        // Searches at once, while only the saved index exists and before the log's changes have
        // been added to it.
        if (SEARCHED.includes(name)) await search(name);
      }
    }
    expect({ life, isHit }).toEqual({ life, isHit: true });
  }
  console.log(`of the parts of unanswered writes ${parts.there} were there and ${parts.lost} were not`);
  expect(recalls.reduce((sum, recall) => sum + recall) / recalls.length).toBeGreaterThanOrEqual(RECALL_MIN);
}, 600_000);

test('in the end the ledger has the root of exactly these records, and its versions only grew', async () => {
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
