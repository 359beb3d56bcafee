import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { startBacking } from '../../../support/backing-services.ts';
import { ClusterProcess } from '../../../support/cluster-process.ts';
import { until } from '../../../support/until.ts';
import { selectedBackings } from '../selection.ts';

const KILLS = 2;
const CLIENTS = 3;
/** Enough that each client gets queries answered by either control node. */
const ANSWERS_BETWEEN = 100;

interface UsageAnswer {
  usage: { query_count: number };
  query_count_uncertainty: number;
}

describe.each(await selectedBackings())('%s', (backing) => {
  test.each([
    ['control nodes take queries and writes', false],
    ['gateways do, as on Kubernetes: no write fails either', true],
  ])(
    'one of two control nodes is killed: no query fails, and every usage report counts them; %s',
    async (_, isAsOnKubernetes) => {
      const settings = { shardNodes: 2, controls: 2, isAsOnKubernetes };
      const cluster = await ClusterProcess.start(await startBacking(backing, true), settings);
      try {
        await cluster.api('POST', '/collections', { name: 'notes', dimensions: 2, shards: 2 });
        const records = Array.from({ length: 8 }, (_, i) => ({ id: `r${i}`, values: [1, i] }));
        expect((await cluster.api('POST', '/collections/notes/upsert', { records })).status).toBe(200);
        const load = new Load(cluster, isAsOnKubernetes);
        try {
          await load.answersMore();
          // The other node stays known to every node all the time.
          const [node] = cluster.controls;
          for (load.killed = 1; load.killed <= KILLS; load.killed++) {
            await node!.kill();
            await load.answersMore();
            await node!.start();
            await load.answersMore();
          }
        } finally {
          await load.end();
        }
        expect(load.failures).toEqual([]);
        // Whatever else the killed nodes had taken stays uncertain.
        const { body } = await cluster.api<UsageAnswer>('GET', '/usage');
        const uncertain = body.query_count_uncertainty;
        expect(body.usage.query_count).toBeGreaterThanOrEqual(load.answered);
        expect(body.usage.query_count - uncertain).toBeLessThanOrEqual(load.answered + KILLS * CLIENTS);
      } finally {
        await cluster.dispose();
      }
    },
    180_000,
  );
});

/** Clients that query, one that reads the usage, and optionally one that writes. */
class Load {
  readonly failures: unknown[] = [];
  answered = 0;
  killed = 0;
  #begun = 0;
  #isOver = false;
  readonly #cluster: ClusterProcess;
  readonly #running: Promise<unknown>;

  constructor(cluster: ClusterProcess, withWriter: boolean) {
    this.#cluster = cluster;
    const clients = Array.from({ length: CLIENTS }, () => this.#query());
    this.#running = Promise.all([...clients, this.#readUsage(), ...(withWriter ? [this.#write()] : [])]);
  }

  async answersMore(): Promise<void> {
    const target = this.answered + ANSWERS_BETWEEN;
    const answers = until('more queries are answered', async () => this.answered >= target || this.failures.length > 0);
    await Promise.race([answers, this.#running]);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #query(): Promise<void> {
    while (!this.#isOver) {
      this.#begun++;
      const { status, body } = await this.#cluster.api('POST', '/collections/notes/query', { vector: [1, 1] });
      if (status === 200) this.answered++;
      else this.failures.push(body);
    }
  }

  async #write(): Promise<void> {
    for (let i = 0; !this.#isOver; i++) {
      const records = [{ id: `r${i % 8}`, values: [1, i] }];
      const { status, body } = await this.#cluster.api('POST', '/collections/notes/upsert', { records });
      if (status !== 200) this.failures.push(body);
    }
  }

  async #readUsage(): Promise<void> {
    while (!this.#isOver) {
      const before = this.answered;
      const { status, body } = await this.#cluster.api<UsageAnswer>('GET', '/usage');
      if (status !== 200) {
        this.failures.push(body);
        return;
      }
      const shown = body.usage.query_count;
      expect(shown).toBeGreaterThanOrEqual(before);
      // A query that a dead node counted but did not answer counts again when the client retries
      // it.
      expect(shown - body.query_count_uncertainty).toBeLessThanOrEqual(this.#begun + this.killed * CLIENTS);
      await delay(100);
    }
  }
}
