import type { DecodeContext } from '../../../contracts/requests/field.ts';
import type { RequestName } from '../../../contracts/requests/requests.ts';
import type { JsonObject } from '../../../lib/records/fields.ts';
import type { VectorPlace } from './extracted-vectors.ts';

/** Name of a dialect's body: `pinecone/query`. */
export type DialectBodyName = `${string}/${string}`;

/** Maps a body of another dialect to one of our requests. */
export interface Translation {
  request: RequestName;
  /**
   * Members that clients send, including ignored ones. A name that looks like a misspelling of one
   * is refused. Absent: any name is accepted.
   */
  members?: readonly string[];
  /** Path of the body's vectors; null if it has none. */
  vectorsAt: VectorPlace['path'] | null;
  /** Returns the context to check the values against, if it is less strict than ours. */
  relaxed?(context: DecodeContext): DecodeContext;
  /** Renames fields, and drops those that the request does not have. */
  translate(body: JsonObject): JsonObject;
}

const translations = new Map<string, Translation>();

/** Makes the bodies of a dialect known to the decoders of this thread. */
export function registerBodies(bodies: Readonly<Record<DialectBodyName, Translation>>): void {
  for (const [name, translation] of Object.entries(bodies)) translations.set(name, translation);
}

/** Returns null for one of our requests. */
export function translationOf(name: string): Translation | null {
  const found = translations.get(name) ?? null;
  if (found === null && name.includes('/')) throw new Error(`no dialect has registered the body ${name}`);
  return found;
}
