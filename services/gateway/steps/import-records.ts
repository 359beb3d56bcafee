/**
 * Reads an import as it arrives and writes it entry by entry, holding at most two entries, however
 * large the body is.
 *
 * Reading pauses while two entries are held, so a client that sends faster than the collection can
 * write has to wait. A line that is not a record ends the import with a 400 that names the line.
 * Every error says how many records were stored before it.
 */

import type { ImportResult } from '../../../contracts/actions/collections.ts';
import type { ImportedLines } from '../../../contracts/requests/import-request.ts';
import { itemAt } from '../../../lib/checked-access.ts';
import { isProvecError, ProvecError } from '../../../lib/errors.ts';
import type { Limits } from '../../../lib/limits.ts';
import { batchBytes, type RecordBatch } from '../../../lib/records/batch.ts';
import { invalidValue } from '../../../lib/records/fields.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import { boundsOf } from '../bodies/decoders.ts';
import { type ImportEntry, importEntries } from '../bodies/import-entries.ts';
import { parseJsonBody } from '../bodies/json-body.ts';
import { pacedBody, SENDING_PACE } from '../bodies/sending-pace.ts';
import { bodyCoding, decodedBody, decoderBytes } from '../codings/decoded-body.ts';
import { exemptFromBodyTimeout } from '../http-server.ts';
import type { RoutedRequest } from '../request-context.ts';
import type { Warned } from '../responses/json-pieces.ts';
import { NDJSON_TYPE } from '../responses/sender.ts';
import { requiredCollection } from '../route.ts';
import { roundingWarning } from '../warnings.ts';
import { attemptCall } from './call-action.ts';
import { refuseMediaType } from './read-body.ts';
import type { StepParts } from './step.ts';
import { queueRequestOf } from './wait-turn.ts';

const MEDIA_TYPES = [NDJSON_TYPE, 'application/ndjson', 'application/jsonl', 'application/json'];

/** Imports the body. Throws the errors of its lines and of the writes. */
export async function importRecords(request: RoutedRequest, parts: StepParts): Promise<void> {
  const { accountId, req, res } = request;
  refuseMediaType(req, MEDIA_TYPES, 'newline-delimited JSON');
  const coding = bodyCoding(req);
  exemptFromBodyTimeout(req);
  if (request.awaitsContinue) {
    request.awaitsContinue = false;
    res.writeContinue();
  }
  const memory = parts.overload.bodies.take(accountId, 0);
  request.bodyMemory = memory;
  const { limits } = parts.config;
  const run = new ImportRun(request, parts);
  try {
    const held = (bytes: number): void => memory.resize(decoderBytes(coding) + bytes + run.heldBytes);
    const received = pacedBody(req, SENDING_PACE);
    const content = coding === null ? received : decodedBody(received, coding);
    const entries = importEntries(content, limits.recordsPerUpsertMax, held);
    for await (const entry of entries) await run.take(entry);
    request.result = await run.finish();
  } catch (error) {
    throw await run.failure(error);
  }
  request.actionEnded();
}

class ImportRun {
  readonly #request: RoutedRequest;
  /** Collection that the import keeps, even if the name or alias points to another one later. */
  readonly #collection: CollectionRow;
  readonly #parts: StepParts;
  #stored = 0;
  /** Decoded entry, written as soon as it is known whether it is the last. */
  #waiting: RecordBatch | null = null;
  /** Number of lines that are records. */
  #records = 0;
  #headLine = 0;
  #endLine = 0;
  #isFirst = true;
  /** First integer that a double cannot represent. */
  #rounded: string | undefined;

  constructor(request: RoutedRequest, parts: StepParts) {
    this.#request = request;
    this.#collection = requiredCollection(request);
    this.#parts = parts;
  }

  async take(entry: ImportEntry): Promise<void> {
    const lines = await this.#decoded(entry);
    this.#checkFrame(lines, entry.numbers);
    if (lines.batch.ids.length === 0) return;
    const before = this.#waiting;
    // Cleared first: if this write fails, later entries must not be written.
    this.#waiting = null;
    if (before !== null) await this.#write(before, false);
    this.#waiting = lines.batch;
  }

  /** Bytes of the decoded entry that is not written yet. */
  get heldBytes(): number {
    return this.#waiting === null ? 0 : batchBytes(this.#waiting);
  }

  async finish(): Promise<ImportResult & Warned> {
    const { dimensions } = this.#collection;
    const nothing = { ids: [], dimensions, vectors: new Float32Array(0), metadata: [] };
    const last = this.#waiting ?? nothing;
    this.#waiting = null;
    const result = await this.#write(last, true);
    if (this.#headLine > 0 && this.#endLine === 0)
      throw invalidValue('body', 'a complete export with its last line', 'one without it');
    const warned = this.#rounded !== undefined && { warnings: [roundingWarning(this.#rounded)] };
    return { ...result, importedCount: this.#stored, ...warned };
  }

  /**
   * Returns the error to throw. First stores the records before the faulty line, and adds their
   * number to the message.
   */
  async failure(error: unknown): Promise<unknown> {
    const before = this.#waiting;
    this.#waiting = null;
    try {
      if (before !== null && isProvecError(error) && error.status < 500) await this.#write(before, true);
    } catch (other) {
      return this.#told(other);
    }
    return this.#told(error);
  }

  #told(error: unknown): unknown {
    if (!isProvecError(error) || this.#stored === 0) return error;
    const { code, message, details, retryAfterSeconds, cause } = error;
    const records = this.#stored === 1 ? '1 record' : `${this.#stored.toLocaleString('en')} records`;
    const were = this.#stored === 1 ? 'was' : 'were';
    if (code === 'COLLECTION_NOT_FOUND')
      return new ProvecError(
        code,
        `The collection was deleted during the import, with ${records} that the import had stored.`,
      );
    const before = `${records} ${were} stored before.`;
    // Some messages end in a URL.
    const told = message.endsWith('.') ? `${message} ${before}` : `${before} ${message}`;
    return new ProvecError(code, told, { details, retryAfterSeconds, cause });
  }

  async #write(batch: RecordBatch, isLast: boolean): Promise<ImportResult> {
    const request = this.#request;
    const { accountId } = request;
    const { id: collectionId, name } = this.#collection;
    const permit = await this.#parts.overload.queues.write.enter(queueRequestOf(request));
    try {
      const params = { accountId, name, collectionId, batch, isAnchorAwaited: isLast };
      const result = (await attemptCall(request, this.#parts, params)) as ImportResult;
      this.#stored += result.importedCount;
      return result;
    } finally {
      permit.release();
    }
  }

  async #decoded(entry: ImportEntry): Promise<ImportedLines> {
    const { bytes, lines, numbers } = entry;
    const { bodies, clock, config } = this.#parts;
    const { dimensions, metric } = this.#collection;
    const context = { limits: config.limits, shape: { dimensions, metric }, wallMs: clock.wallMs() };
    try {
      const decoded = await bodies.decode('import', bytes, context, queueRequestOf(this.#request));
      // A malformed line can close the array and open another, and so count as several.
      this.#rounded ??= decoded.roundedInteger;
      if (decoded.lines.values === lines.length) return decoded.lines;
    } catch (error) {
      if (!isProvecError(error) || error.status >= 500) throw error;
      throw notJson(entry, config.limits) ?? withLineNumbers(error, numbers);
    }
    throw notJson(entry, config.limits);
  }

  /** Checks that an export's head is first and its end last, with the number of records. */
  #checkFrame({ headAt, endAt, endCount, values }: ImportedLines, numbers: readonly number[]): void {
    const wrong = (at: number, got: string) => invalidValue(`line ${numbers[at]}`, 'a record', got);
    if (this.#endLine > 0) throw wrong(0, 'a line after the end of an export');
    if (headAt > 0 || (headAt === 0 && !this.#isFirst)) throw wrong(headAt, 'the head of an export');
    if (endAt >= 0 && endAt < values - 1) throw wrong(endAt + 1, 'a line after the end of an export');
    if (headAt === 0) this.#headLine = itemAt(numbers, 0);
    if (endAt >= 0) this.#endLine = itemAt(numbers, endAt);
    this.#isFirst = false;
    this.#records += [headAt, endAt].reduce((count, at) => (at < 0 ? count : count - 1), values);
    // Without a head, the lines may be a selection from an export, so the count need not match.
    if (this.#headLine > 0 && endCount !== null && endCount !== this.#records)
      throw invalidValue(`line ${this.#endLine}.end.count`, `${this.#records}, the number of records`, `${endCount}`);
  }
}

/** Returns the error for the first line that is not a JSON object by itself, or null. */
function notJson({ lines, numbers }: ImportEntry, limits: Limits): ProvecError | null {
  for (const [at, line] of lines.entries()) {
    try {
      parseJsonBody(line, boundsOf(limits));
    } catch (error) {
      if (!isProvecError(error)) throw error;
      const place = `line ${numbers[at]}`;
      const details = error.details?.map((detail) => ({
        ...detail,
        path: detail.path === 'body' ? place : `${place}.${detail.path}`,
      }));
      return new ProvecError(error.code, error.message.replace(/^The body/, place), { details });
    }
  }
  return null;
}

/** Replaces element indexes in an error with the client's line numbers. */
function withLineNumbers({ code, message, details }: ProvecError, numbers: readonly number[]): ProvecError {
  const named = (text: string): string =>
    text.replaceAll(/\blines\[(\d+)\]/g, (_, at) => `line ${numbers[Number(at)]}`);
  const told = details?.map((detail) => ({ ...detail, path: named(detail.path) }));
  return new ProvecError(code, named(message), { details: told });
}
