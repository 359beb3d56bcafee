import type { JsonObject } from '../../../lib/records/fields.ts';
import type { RequestName } from '../../../lib/requests/requests.ts';
import type { VectorPlace } from './lifted-vectors.ts';

/** How a body in another surface's words says one of our requests. */
export interface Translation {
  request: RequestName;
  /** Where the body has its vectors; null: it has none. */
  vectorsAt: VectorPlace['path'] | null;
  /** Of a query: a vector without direction passes, whatever the metric. */
  allowsZeroVector?: boolean;
  /** Renames fields, and leaves out what the request does not have; `request` then checks them. */
  translate(body: JsonObject): JsonObject;
}
