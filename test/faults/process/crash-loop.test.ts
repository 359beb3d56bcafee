import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { monthOf } from '../../../lib/time/month.ts';
import { type ModelRecord, type OpenWrite, UncertainCollection } from '../../simulation/model/uncertain-collection.ts';
import { eventually } from '../../support/accounts.ts';
import { isThorough } from '../../support/effort.ts';
import { runningIn } from '../../support/process-group.ts';
import { randomFrom } from '../../support/random.ts';
import { seed } from '../../support/seed.ts';
import { type ServiceProcess, startProcess } from '../../support/service-process.ts';

const CRASHES = Number(process.env.PROVEC_TEST_CRASHES ?? (isThorough ? 30 : 6));
const CLIENTS = 4;
const IDS_PER_CLIENT = 60;
const RECORDS_PER_WRITE_MAX = 12;
const DIMENSIONS = 4;
const LIFE_MAX_MS = 250;
const COLLECTIONS = [
  { name: 'one-shard', dimensions: DIMENSIONS, shards: 1 },
  { name: 'four-shards', dimensions: DIMENSIONS, shards: 4 },
];

const random = randomFrom(seed);
const below = (limit: number) => Math.floor(random() * limit);
let stamps = 0;
/** Records in acknowledged upserts, and in all upserts sent. */
let acknowledgedWrites = 0;
let sentWrites = 0;

/** A client that writes to its own ids, one request at a time. */
class Client {
  readonly name: string;
  readonly ids: string[];

  constructor(number: number) {
    this.name = COLLECTIONS[number % COLLECTIONS.length]!.name;
    this.ids = Array.from({ length: IDS_PER_CLIENT }, (_, i) => `${number}/${i}`);
  }

  /** Writes until the service is gone. */
  async write(service: ServiceProcess): Promise<void> {
    const model = models.get(this.name)!;
    for (;;) {
      const wanted = this.#next();
      const records = [...wanted.values()].filter((record) => record !== null);
      const path = `/collections/${this.name}`;
      model.begin(wanted);
      sentWrites += records.length;
      const sent =
        records.length > 0
          ? service.api('POST', `${path}/upsert`, { records })
          : service.api('POST', `${path}/delete`, { ids: [...wanted.keys()] });
      const answer = await sent.catch(() => null);
      if (answer === null) return;
      expect(answer).toMatchObject({ status: 200 });
      acknowledgedWrites += records.length;
      model.acknowledge(wanted);
    }
  }

  #next(): OpenWrite {
    const isDelete = random() < 0.3;
    const wanted = new Map<string, ModelRecord | null>();
    for (let left = 1 + below(RECORDS_PER_WRITE_MAX); left > 0; left--) {
      const id = this.ids[below(IDS_PER_CLIENT)]!;
      const stamp = ++stamps;
      const values = [1, stamp % 7, stamp % 11, stamp % 13];
      wanted.set(id, isDelete ? null : { id, values, metadata: { stamp } });
    }
    return wanted;
  }
}

const models = new Map(COLLECTIONS.map(({ name, shards }) => [name, new UncertainCollection(shards)]));
let service: ServiceProcess;
const clients = Array.from({ length: CLIENTS }, (_, number) => new Client(number));

beforeAll(async () => {
  console.log(`seed ${seed} (PROVEC_TEST_SEED), ${CRASHES} crashes (PROVEC_TEST_CRASHES)`);
  // Responses that wait for their anchor are so late that a write acknowledged before it is durable
  // would go unnoticed.
  service = await startProcess({ PROVEC_LOG_LEVEL: 'error', PROVEC_ANCHOR_WAIT_MS: '0' });
  for (const collection of COLLECTIONS) await service.api('POST', '/collections', collection);
});
afterAll(() => service.dispose());

/** Settles uncertain writes, and compares every record and the root with the model. */
async function check(name: string): Promise<void> {
  const model = models.get(name)!;
  const found = new Map<string, ModelRecord>();
  for (const { ids } of clients.filter((client) => client.name === name)) {
    const path = `/collections/${name}/fetch`;
    const { body } = await service.api<{ vectors: Record<string, ModelRecord> }>('POST', path, { ids });
    for (const record of Object.values(body.vectors)) found.set(record.id, record);
  }
  model.settle(found);
  expect(found).toEqual(new Map(model.records.map((record) => [record.id, record])));
  const { body } = await service.api('GET', `/collections/${name}`);
  expect(body.collection).toMatchObject({ merkleRoot: model.root, vector_count: model.size });
}

test('after any kill, the acknowledged writes are there, and nothing else', async () => {
  for (let crash = 0; crash < CRASHES; crash++) {
    const group = service.pid;
    const writing = Promise.all(clients.map((client) => client.write(service)));
    // A random time of the kill, not a wait for a condition.
    await delay(below(LIFE_MAX_MS));
    await service.kill('SIGKILL');
    await writing;
    await eventually(async () => (await runningIn(group)).length === 0);
    await service.restart();
    for (const { name } of COLLECTIONS) await check(name);
  }
  expect(acknowledgedWrites).toBeGreaterThan(0);
}, 180_000);

test('in the end verify says match for exactly these records', async () => {
  for (const [name, { root, size }] of models) {
    const verify = () => service.api('GET', `/collections/${name}/verify`);
    await eventually(async () => (await verify()).body.state !== 'pending');
    expect((await verify()).body).toMatchObject({
      state: 'match',
      verified: true,
      onChainRoot: root,
      computedRoot: root,
      vectorCount: size,
    });
  }
});

test('usage counts every acknowledged write and none that was not sent', async () => {
  const { body } = await service.api<{ month: string; usage: Record<string, number> }>('GET', '/usage');
  expect(body.usage.vector_count).toBe([...models.values()].reduce((total, { size }) => total + size, 0));
  if (body.month !== monthOf(performance.timeOrigin)) return;
  expect(body.usage.write_count).toBeGreaterThanOrEqual(acknowledgedWrites);
  expect(body.usage.write_count).toBeLessThanOrEqual(sentWrites);
  console.log(`${acknowledgedWrites} acknowledged <= ${body.usage.write_count} counted <= ${sentWrites} sent`);
});
