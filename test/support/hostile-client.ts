/**
 * Thread of `hostileRequest`: what sending costs must not count into what the service's thread is
 * held.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { type HostileOrder, sendHostile } from './hostile-sender.ts';

parentPort!.postMessage(await sendHostile(workerData as HostileOrder));
