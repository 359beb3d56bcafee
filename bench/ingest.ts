import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type Dataset, recordsOf } from './dataset.ts';
import { post, type Target } from './http-request.ts';

const BATCH = 500;
const LANES = 2;
/** A busy store answers 503; the upsert is then sent again. */
const ATTEMPTS_MAX = 5;
const PAUSE_MS = 1_000;

/** Creates a collection and returns its id. */
export async function createCollection(target: Target, description: Record<string, unknown>): Promise<string> {
  const agent = new Agent();
  const { status, text } = await post(target, agent, '/collections', JSON.stringify(description));
  agent.destroy();
  if (status !== 201) throw new Error(`create: ${status} ${text.slice(0, 300)}`);
  return (JSON.parse(text) as { collection: { id: string } }).collection.id;
}

/** Writes the first `count` records of a data set. */
export async function upsertAll(target: Target, data: Dataset, name: string, count: number): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let from = next; from < count; from = next) {
      next += BATCH;
      const records = recordsOf(data, from, Math.min(count, from + BATCH));
      await upsert(target, agent, name, JSON.stringify({ records }));
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  agent.destroy();
}

async function upsert(target: Target, agent: Agent, name: string, body: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const { status, text } = await post(target, agent, `/collections/${name}/upsert`, body);
    if (status === 200) return;
    if (status !== 503 || attempt === ATTEMPTS_MAX) throw new Error(`upsert: ${status} ${text.slice(0, 300)}`);
    await delay(PAUSE_MS);
  }
}
