import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { post } from '../../../bench/http-request.ts';
import { median } from '../../../bench/median.ts';
import { cpuSeconds } from '../../../bench/process-figures.ts';
import { randomFrom } from '../../support/random.ts';
import { startProcess } from '../../support/service-process.ts';
import { TEST_KEY } from '../../support/tenant.ts';

const DIMENSIONS = 384;
const RECORDS = 100;
const CONNECTIONS = 4;
const ROUNDS = 7;
const REQUESTS = 4_000;
/**
 * Medians of 2.9 to 3.1 were measured; the limit is half as much again. Compared with a server
 * without a thread they were 7.5 on one machine and 11 on another.
 */
const RATIO_MAX = 4.5;

const BARE_SERVER = fileURLToPath(new URL('./bare-server.ts', import.meta.url));

/** Reads the CPU time of another process from /proc. */
const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux(
  'a query takes no more CPU beside the barest search over HTTP than it did',
  async () => {
    const service = await startProcess({ PROVEC_LEDGER: 'off' });
    const random = randomFrom(1);
    const vector = () => Array.from({ length: DIMENSIONS }, () => Math.fround(random() - 0.5));
    await service.api('POST', '/collections', { name: 'docs', dimensions: DIMENSIONS });
    const records = Array.from({ length: RECORDS }, (_, i) => ({
      id: `r${i}`,
      values: vector(),
      metadata: { text: `A sentence of some length that says what record ${i} is about.`, tags: ['a', 'b'] },
    }));
    expect((await service.api('POST', '/collections/docs/upsert', { records })).status).toBe(200);
    const bodies = Array.from({ length: 100 }, () => Buffer.from(JSON.stringify({ vector: vector(), topK: 10 })));
    const provec = { url: service.url, key: TEST_KEY };
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    const { text } = await post(provec, agent, '/collections/docs/query', bodies[0]!);
    const child = spawn(process.execPath, [BARE_SERVER, `${RECORDS}`, `${DIMENSIONS}`, text], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    try {
      const [port] = (await once(child.stdout, 'data')) as [Buffer];
      const bare = { url: `http://127.0.0.1:${Number(port)}`, key: TEST_KEY };
      /** CPU time of one request, over all threads. */
      const cost = async (target: typeof provec, pid: number) => {
        const before = cpuSeconds(pid);
        const lane = async (from: number) => {
          for (let at = from; at < REQUESTS; at += CONNECTIONS) {
            const { status } = await post(target, agent, '/collections/docs/query', bodies[at % bodies.length]!);
            if (status !== 200) throw new Error(`status ${status}`);
          }
        };
        await Promise.all(Array.from({ length: CONNECTIONS }, (_, from) => lane(from)));
        return (cpuSeconds(pid) - before) / REQUESTS;
      };
      const ratios: number[] = [];
      for (let round = 0; round <= ROUNDS; round++) {
        const least = await cost(bare, child.pid!);
        const most = await cost(provec, service.pid);
        // The first round runs code that is not compiled yet.
        if (round > 0) ratios.push(most / least);
      }
      console.info(
        `CPU of a query beside that of the barest search over HTTP: ${ratios.map((ratio) => ratio.toFixed(1)).join(' ')}`,
      );
      expect(median(ratios)).toBeLessThan(RATIO_MAX);
    } finally {
      agent.destroy();
      child.stdin.end();
      await once(child, 'exit');
      await service.dispose();
    }
  },
  180_000,
);
