import { RECORDS_PER_UPSERT, type Upsert, type UpsertResult } from './api/generated.ts';
import { assertRecord } from './http/body-text.ts';
import { APIStatusError, explained, ProvecError } from './http/errors.ts';

type Result = UpsertResult & { warnings?: string[] };

const PLACE = /\brecords\[(\d+)\]/g;

/**
 * Upserts records in one request after another, each as large as allowed. Returns the sums of
 * the counts, all warnings, and otherwise the last answer. If a request fails, its error has
 * `storedCount` and names places among all records.
 */
export async function upsertInParts(
  body: Upsert,
  send: (part: Upsert) => Promise<UpsertResult>,
): Promise<UpsertResult> {
  const { records } = body;
  if (!Array.isArray(records) || records.length <= RECORDS_PER_UPSERT) return send(body);
  // Before the first part is stored.
  for (const [at, record] of records.entries()) assertRecord(record, at);
  let upsertedCount = 0;
  const warnings: string[] = [];
  for (let from = 0; ; from += RECORDS_PER_UPSERT) {
    const part = { ...body, records: records.slice(from, from + RECORDS_PER_UPSERT) };
    const result: Result = await send(part).catch((error: unknown) => {
      throw inPart(error, from, records.length);
    });
    upsertedCount += result.upsertedCount;
    warnings.push(...(result.warnings ?? []).map((warning) => placed(warning, from)));
    if (from + RECORDS_PER_UPSERT >= records.length)
      return { ...result, upsertedCount, ...(warnings.length > 0 && { warnings }) };
  }
}

function inPart(error: unknown, storedCount: number, count: number): unknown {
  if (!(error instanceof ProvecError)) return error;
  error.message = placed(error.message, storedCount);
  if (error instanceof APIStatusError) {
    const details = error.details.map((detail) => ({ ...detail, path: placed(detail.path, storedCount) }));
    Object.assign(error, { details });
  }
  explained(error, `The first ${storedCount} of ${count} records were stored before.`);
  return Object.assign(error, { storedCount });
}

const placed = (text: string, from: number): string =>
  text.replace(PLACE, (_, at: string) => `records[${Number(at) + from}]`);
