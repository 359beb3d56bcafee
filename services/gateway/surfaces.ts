import { PINECONE } from './pinecone/surface.ts';
import { RECALL } from './recall/surface.ts';
import { type Dialect, PROVEC } from './surface.ts';

const OTHERS = [PINECONE, RECALL];

export function dialectOf(path: string): Dialect {
  return OTHERS.find(({ base }) => path === base || path.startsWith(`${base}/`)) ?? PROVEC;
}
