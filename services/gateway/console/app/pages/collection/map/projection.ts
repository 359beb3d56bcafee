import { workerAddress } from '../../../shell/worker-address.ts';
import type { Plane } from './plane.ts';
import type { PlaneMessage, PlaneRequest } from './plane-request.ts';

const WORKER = new URL('./plane-worker.ts', import.meta.url).href;

/** Projects vectors in a worker. Rejects if it fails, and with the signal's reason. */
export function projected(request: PlaneRequest, report: (share: number) => void, signal: AbortSignal): Promise<Plane> {
  signal.throwIfAborted();
  const worker = new Worker(workerAddress(WORKER));
  const { promise, resolve, reject } = Promise.withResolvers<Plane>();
  worker.onmessage = ({ data }: MessageEvent<PlaneMessage>) => {
    if (data.kind === 'progress') report(data.share);
    else resolve(data);
  };
  worker.onerror = () => reject(new Error('The map could not be computed. The browser may lack the memory.'));
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  worker.postMessage(request);
  return promise.finally(() => worker.terminate());
}
