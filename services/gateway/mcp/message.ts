import type { JsonObject } from '../../../lib/records/fields.ts';

/** A message of an agent: a JSON-RPC request, notification or response. */
export interface Message {
  json: JsonObject;
  /** First integer in it that a double cannot represent; null if there is none. */
  roundedInteger: string | null;
}
