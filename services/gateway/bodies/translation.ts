import type { DecodeContext } from '../../../contracts/requests/field.ts';
import type { RequestName } from '../../../contracts/requests/requests.ts';
import type { JsonObject } from '../../../lib/records/fields.ts';
import type { VectorPlace } from './extracted-vectors.ts';

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
