import { PINECONE } from './pinecone/surface.ts';
import { PROVEC, type Surface } from './surface.ts';

/** The surface that a path belongs to. */
export function surfaceOf(path: string): Surface {
  const { base } = PINECONE;
  return path === base || path.startsWith(`${base}/`) ? PINECONE : PROVEC;
}
