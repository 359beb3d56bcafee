/**
 * Preloaded (`--import`) into a service that a test starts as its own process. Prints an address;
 * POST there begins a measurement of the main thread's event loop, GET ends it with the result.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isMainThread } from 'node:worker_threads';
import { LoopWatch } from './loop-watch.ts';

async function serve(): Promise<void> {
  let watch: LoopWatch | null = null;
  const server = createServer(async ({ method }, reply) => {
    const heldMs = await watch?.end();
    watch = method === 'POST' ? new LoopWatch() : null;
    reply.end(`${heldMs}`);
  });
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  process.stdout.write(`watched at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
}

// Node preloads it into worker threads, too.
if (isMainThread) await serve();
