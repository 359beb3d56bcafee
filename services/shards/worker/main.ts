/** A worker thread that holds shards. */
import { parentPort, workerData } from 'node:worker_threads';
import { ShardHost } from './shard-host.ts';

const port = parentPort!;
const engine = { graphThreads: (workerData as { graphThreads: number }).graphThreads };
const host = new ShardHost((message, transfer) => port.postMessage(message, transfer), setImmediate, { engine });
port.on('message', (request) => host.receive(request));
