/** A worker thread that holds shards. */
import { parentPort, workerData } from 'node:worker_threads';
import { END, type WorkerRequest } from './protocol.ts';
import { ShardHost } from './shard-host.ts';

const port = parentPort!;
const engine = { graphThreads: (workerData as { graphThreads: number }).graphThreads };
const host = new ShardHost((message, transfer) => port.postMessage(message, transfer), setImmediate, { engine });
port.on('message', (request: WorkerRequest | typeof END) => {
  // In a worker this ends the thread, not the process.
  if (request === END) process.exit();
  host.receive(request);
});
