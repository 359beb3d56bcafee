import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { END } from '../../services/shards/worker/protocol.ts';

const living = new Set<Worker>();
subscribe('worker_threads', (message) => {
  const { worker } = message as { worker: Worker };
  living.add(worker);
  worker.once('exit', () => living.delete(worker));
});

/** Shard worker threads started by this process since this module was imported. */
export function shardWorkers(): Worker[] {
  return [...living].filter(({ threadName }) => threadName === 'provec-shards');
}

/** Ends every shard worker as if it had run out of heap. */
export async function endShardWorkers(): Promise<void> {
  const workers = shardWorkers();
  const ended = workers.map((worker) => once(worker, 'exit'));
  for (const worker of workers) worker.postMessage(END);
  await Promise.all(ended);
}
