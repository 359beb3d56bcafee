import { beforeAll, describe, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { isThorough } from '../../support/effort.ts';
import { invariant } from '../../support/invariant.ts';
import { randomFrom } from '../../support/random.ts';
import { referenceLeaf, referenceRoot } from '../../support/reference-root.ts';
import { seed } from '../../support/seed.ts';
import { type SharedService, shareService } from '../../support/shared-service.ts';
import { until } from '../../support/until.ts';

const CLIENTS = 64;
const OPERATIONS = isThorough ? 40 : 20;
const OWN_IDS = 12;
const SHARED_IDS = 16;

interface Item {
  id: string;
  values: number[];
  metadata: { client: number; step: number };
}

/** An acknowledged write of one id, with the instants when its request was sent and answered. */
interface Write {
  sent: number;
  answered: number;
  /** Null for a delete. */
  item: Item | null;
}

describe(`64 clients at once (seed ${seed})`, () => {
  let service: SharedService;
  let tick = 0;
  const writes = new Map<string, Write[]>();
  let written = 0;
  let queried = 0;
  let versions: number[] = [];

  beforeAll(async () => {
    service = await shareService('anchored');
    await service.api('POST', '/collections', { name: 'demo', dimensions: 3, shards: 4 });
  });

  const note = (id: string, write: Write) => {
    writes.set(id, [...(writes.get(id) ?? []), write]);
  };

  class Client {
    readonly #client: number;
    readonly #random: () => number;
    readonly #own = new Map<string, Item>();

    constructor(client: number) {
      this.#client = client;
      this.#random = randomFrom(seed * 1_000 + client);
    }

    async run(): Promise<void> {
      for (let step = 0; step < OPERATIONS; step++) {
        const choice = this.#random();
        if (choice < 0.5) await this.#upsert(step);
        else if (choice < 0.7) await this.#delete();
        else if (choice < 0.85) await this.#query();
        else await this.#fetch();
      }
    }

    #pick(): string[] {
      const ids = new Set<string>();
      const count = 1 + Math.floor(this.#random() * 4);
      while (ids.size < count) {
        const isShared = this.#random() < 0.2;
        const number = Math.floor(this.#random() * (isShared ? SHARED_IDS : OWN_IDS));
        ids.add(isShared ? `shared-${number}` : `own-${this.#client}-${number}`);
      }
      return [...ids];
    }

    async #upsert(step: number): Promise<void> {
      const records = this.#pick().map((id) => ({
        id,
        values: [this.#client + 1, step, Math.floor(this.#random() * 256) / 256],
        metadata: { client: this.#client, step },
      }));
      const sent = tick++;
      const { status, body } = await service.api('POST', '/collections/demo/upsert', { records });
      const answered = tick++;
      expect({ status, upsertedCount: body.upsertedCount }).toEqual({ status: 200, upsertedCount: records.length });
      written += records.length;
      versions.push(body.version as number);
      for (const item of records) {
        if (item.id.startsWith('own')) this.#own.set(item.id, item);
        note(item.id, { sent, answered, item });
      }
    }

    async #delete(): Promise<void> {
      const ids = this.#pick();
      const sent = tick++;
      const { status, body } = await service.api('POST', '/collections/demo/delete', { ids });
      const answered = tick++;
      expect(status).toBe(200);
      const own = ids.filter((id) => this.#own.delete(id)).length;
      const shared = ids.filter((id) => id.startsWith('shared')).length;
      expect(body.deletedCount).toBeGreaterThanOrEqual(own);
      expect(body.deletedCount).toBeLessThanOrEqual(own + shared);
      for (const id of ids) note(id, { sent, answered, item: null });
    }

    async #query(): Promise<void> {
      const { status, body } = await service.api<{ matches: { id: string }[] }>('POST', '/collections/demo/query', {
        vector: [1, 1, 1],
        topK: 100,
        filter: { client: this.#client },
      });
      expect(status).toBe(200);
      queried += 1;
      const found = body.matches.map(({ id }) => id).filter((id) => id.startsWith('own'));
      expect(found.toSorted()).toEqual([...this.#own.keys()].toSorted());
    }

    async #fetch(): Promise<void> {
      const ids = Array.from({ length: OWN_IDS }, (_, number) => `own-${this.#client}-${number}`);
      const { status, body } = await service.api('POST', '/collections/demo/fetch', { ids });
      expect({ status, body }).toEqual({ status: 200, body: { vectors: Object.fromEntries(this.#own) } });
    }
  }

  test('each sees its own writes at once, and none fails', async () => {
    const clients = Array.from({ length: CLIENTS }, (_, client) => new Client(client));
    await invariant('each reads its own writes', () => Promise.all(clients.map((client) => client.run())));
    expect(written).toBeGreaterThan(CLIENTS * OPERATIONS * 0.5);
    versions = versions.toSorted((a, b) => a - b);
  });

  const isWhatWasWritten = async () => {
    const stored = new Map<string, Item>();
    const ids = [...writes.keys()];
    const { body } = await service.api<{ vectors: Record<string, Item> }>('POST', '/collections/demo/fetch', { ids });
    for (const [id, item] of Object.entries(body.vectors)) stored.set(id, item);
    for (const [id, all] of writes) {
      // A write can be the last if no other was sent after it was answered.
      const possible = all.filter((write) => !all.some(({ sent }) => sent > write.answered));
      expect(possible.map(({ item }) => item)).toContainEqual(stored.get(id) ?? null);
    }

    const leaves = [...stored.values()].map(({ id, values, metadata }) => referenceLeaf(id, values, metadata));
    const merkleRoot = referenceRoot(leaves);
    const described = await service.api<{ collection: { version: number } }>('GET', '/collections/demo');
    expect(described.body.collection).toMatchObject({ merkleRoot, vector_count: stored.size });
    expect(described.body.collection.version).toBeGreaterThanOrEqual(versions.at(-1)!);

    const usage = await service.api<{ usage: object }>('GET', '/usage');
    expect(usage.body.usage).toMatchObject({
      write_count: written,
      query_count: queried,
      vector_count: stored.size,
    });

    const verified = await until('the last root is anchored', async () => {
      const answer = (await service.api<VerifyResult>('GET', '/collections/demo/verify')).body;
      expect(['match', 'pending']).toContain(answer.state);
      return answer.state === 'match' && answer;
    });
    expect(verified).toMatchObject({ computedRoot: merkleRoot, onChainRoot: merkleRoot, vectorCount: stored.size });
  };
  test('each final value was written last by some client', () =>
    invariant('no update is lost, no use is miscounted', isWhatWasWritten));
});
