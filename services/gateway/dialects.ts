import { type Dialect, PROVEC } from './dialect.ts';
import { PINECONE } from './pinecone/dialect.ts';
import { RECALL } from './recall/dialect.ts';

const OTHERS = [PINECONE, RECALL];

export function dialectOf(path: string): Dialect {
  return OTHERS.find(({ base }) => path === base || path.startsWith(`${base}/`)) ?? PROVEC;
}
