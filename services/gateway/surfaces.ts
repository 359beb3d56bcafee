import { PINECONE } from './pinecone/surface.ts';
import { RECALL } from './recall/surface.ts';
import { PROVEC, type Surface } from './surface.ts';

const OTHERS = [PINECONE, RECALL];

export function surfaceOf(path: string): Surface {
  return OTHERS.find(({ base }) => path === base || path.startsWith(`${base}/`)) ?? PROVEC;
}
