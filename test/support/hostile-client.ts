/**
 * Thread of `hostileRequest`. A separate thread, so that sending does not count as load on the
 * service's thread.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { type HostileOrder, sendHostile } from './hostile-sender.ts';

parentPort!.postMessage(await sendHostile(workerData as HostileOrder));
