/** Worker of the map: projects vectors onto a plane. */
import { normalise, planeOf } from './plane.ts';
import type { PlaneMessage, PlaneRequest } from './plane-request.ts';

const port = globalThis as unknown as {
  onmessage: ((event: { data: PlaneRequest }) => void) | null;
  postMessage(message: PlaneMessage): void;
};

port.onmessage = ({ data }) => {
  if (data.isNormalised) normalise(data);
  const plane = planeOf(data, data.method, (share) => port.postMessage({ kind: 'progress', share }));
  port.postMessage({ kind: 'done', ...plane });
};
