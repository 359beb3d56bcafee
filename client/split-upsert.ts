import { RECORDS_PER_UPSERT, type Upsert, type UpsertResult } from './api/generated.ts';
import { assertRecord } from './http/body-text.ts';
import { APIStatusError, ProvecError, withExplanation } from './http/errors.ts';
import { assertPlain } from './http/json-value.ts';

type Result = UpsertResult & { warnings?: string[] };

const PLACE = /\brecords\[(\d+)\]/g;
/** Maximum size, in bytes, of the records in one request. The service accepts 64 MiB bodies. */
const PART_MAX_BYTES = 48 * 1024 * 1024;
/** Maximum number of characters for a number in JSON, including the comma after it. */
const NUMBER_MAX_CHARS = 25;

/**
 * Writes records in as few requests as their number and size allow, one after another. Only the
 * last one waits for its anchor, which covers the others. Returns the sum of the counts, all
 * warnings, and the other fields of the last answer. If a request fails, its error has
 * `storedCount`, and places in it such as `records[2003]` count from the first record. If the
 * caller aborts, rejects with the signal's reason unchanged.
 */
export async function upsertInParts(
  body: Upsert,
  send: (part: Upsert, placed: (text: string) => string) => Promise<UpsertResult>,
): Promise<UpsertResult> {
  assertPlain(body, '');
  const { records } = body;
  const parts = Array.isArray(records) ? partsOf(records) : [];
  if (parts.length <= 1) return send(body, (text) => text);
  // Invalid records must be found before the first part is stored.
  for (const [at, record] of records.entries()) assertRecord(record, at);
  let upsertedCount = 0;
  const warnings = new Set<string>();
  let from = 0;
  let last: Result | null = null;
  for (const part of parts) {
    const start = from;
    const isLast = part === parts.at(-1);
    const request = { ...body, records: part, ...(isLast ? {} : { waitForAnchor: false }) };
    last = await send(request, (text) => placed(text, start)).catch((error: unknown) => {
      throw inPart(error, start, records.length);
    });
    upsertedCount += last.upsertedCount;
    for (const warning of last.warnings ?? []) warnings.add(placed(warning, start));
    from += part.length;
  }
  return { ...last!, upsertedCount, ...(warnings.size > 0 && { warnings: [...warnings] }) };
}

/** Splits records into one part per request. A record above the limit is a part of its own. */
function partsOf(records: Upsert['records']): Upsert['records'][] {
  const parts: Upsert['records'][] = [];
  let bytes = 0;
  for (const [at, record] of records.entries()) {
    const own = maxBytesOf(record, at);
    const part = parts.at(-1);
    if (part !== undefined && part.length < RECORDS_PER_UPSERT && bytes + own <= PART_MAX_BYTES) {
      part.push(record);
      bytes += own;
    } else {
      parts.push([record]);
      bytes = own;
    }
  }
  return parts;
}

/** Upper bound, in bytes, of a record's JSON. Throws the errors of `bodyText`. */
function maxBytesOf(record: Upsert['records'][number], at: number): number {
  const { values, ...rest } = record ?? {};
  const text = JSON.stringify(assertRecord({ ...rest, values: [] }, at));
  return new TextEncoder().encode(text).byteLength + NUMBER_MAX_CHARS * (values?.length ?? 0);
}

function inPart(error: unknown, storedCount: number, count: number): unknown {
  if (!(error instanceof ProvecError)) return error;
  error.message = placed(error.message, storedCount);
  if (error instanceof APIStatusError) {
    const details = error.details.map((detail) => ({ ...detail, path: placed(detail.path, storedCount) }));
    Object.assign(error, { details });
  }
  withExplanation(error, `The first ${storedCount} of ${count} records were stored before.`);
  return Object.assign(error, { storedCount });
}

const placed = (text: string, from: number): string =>
  text.replace(PLACE, (_, at: string) => `records[${Number(at) + from}]`);
