import type { JsonObject } from '../../../lib/records/fields.ts';
import type { DecodeContext } from '../../../lib/requests/field.ts';
import type { RequestName } from '../../../lib/requests/requests.ts';
import type { VectorPlace } from './lifted-vectors.ts';

/** How a body in another surface's words says one of our requests. */
export interface Translation {
  request: RequestName;
  /**
   * Members that clients send; some may be ignored. Names that look like a misspelling of one are
   * refused. Absent: no name is refused.
   */
  members?: readonly string[];
  /** Where the body has its vectors; null: it has none. */
  vectorsAt: VectorPlace['path'] | null;
  /** What its values are held against, where that is less than what ours are. */
  relaxed?(context: DecodeContext): DecodeContext;
  /** Renames fields, and leaves out what the request does not have; `request` then checks them. */
  translate(body: JsonObject): JsonObject;
}
