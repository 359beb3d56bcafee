/** Entry point of a worker thread that holds shards. */
import { parentPort, workerData } from 'node:worker_threads';
import { memoryEngine } from '../engine/memory-engine.ts';
import { type CancelRequest, END, type WorkerRequest } from './protocol.ts';
import { ShardHost } from './shard-host.ts';

const port = parentPort!;
const engine = memoryEngine({ graphThreads: (workerData as { graphThreads: number }).graphThreads });
const host = new ShardHost(engine, (message, transfer) => port.postMessage(message, transfer), setImmediate);
port.on('message', (request: WorkerRequest | CancelRequest | typeof END) => {
  // In a worker this ends the thread, not the process.
  if (request === END) process.exit();
  if ('cancel' in request) host.cancel(request);
  else host.receive(request);
});
