/**
 * Worker thread with the SQLite connections of one role: reports whether they could be opened, then
 * answers requests until 'close'.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { FromThread, StoreThreadOptions, ToThread } from '../requests.ts';
import { faultOf, Session } from './session.ts';

if (parentPort === null) throw new Error('this file must be run as a worker thread');
const port = parentPort;
const post = (message: FromThread, buffers: ArrayBuffer[] = []): void => port.postMessage(message, buffers);

try {
  const session = new Session(workerData as StoreThreadOptions, post);
  port.on('message', (message: ToThread) => {
    if (message !== 'close') return session.receive(message);
    session.close();
    port.close();
  });
  post({ opened: { mistyped: session.mistyped } });
} catch (error) {
  post({ refused: faultOf(error, 'opening the store') });
}
