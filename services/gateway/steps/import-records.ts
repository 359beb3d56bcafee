/**
 * Reads an import as it comes, and writes it entry by entry: of a body of any size two entries are
 * held at most.
 *
 * Promises: what an entry holds is stored before the next but one is read, so that a client that is
 * faster than the collection waits. How it fails: a line that is no record ends the import with a
 * 400 that names it, and any error says how many records were stored before it.
 */
import type { ImportResult } from '../../../lib/actions/collections.ts';
import { isProvecError, ProvecError } from '../../../lib/errors.ts';
import { INTERNAL_LIMITS, type Limits } from '../../../lib/limits.ts';
import { batchBytes, type RecordBatch } from '../../../lib/records/batch.ts';
import { invalid } from '../../../lib/records/fields.ts';
import type { ImportedLines } from '../../../lib/requests/import-request.ts';
import { boundsOf } from '../bodies/decoders.ts';
import { type ImportEntry, importEntries } from '../bodies/import-entries.ts';
import { parseJsonBody } from '../bodies/json-body.ts';
import { pacedBody } from '../bodies/sending-pace.ts';
import type { Exchange } from '../exchange.ts';
import { takesItsTime } from '../http-server.ts';
import { NDJSON_TYPE } from '../ndjson-type.ts';
import type { Warned } from '../responses/splice.ts';
import { roundingOf } from '../warnings.ts';
import { attemptCall } from './call-action.ts';
import { refuseMediaType } from './read-body.ts';
import type { StepParts } from './step.ts';
import { queueRequestOf } from './wait-turn.ts';

const MEDIA_TYPES = [NDJSON_TYPE, 'application/ndjson', 'application/jsonl', 'application/json'];
const PACE = { bytesPerSecond: 1024, windowMs: INTERNAL_LIMITS.requestBodyTimeoutMs };

/** Throws what the lines and the entries' writes throw. */
export async function importRecords(exchange: Exchange, parts: StepParts): Promise<void> {
  const { accountId, req, res } = exchange;
  refuseMediaType(req, MEDIA_TYPES, 'newline-delimited JSON');
  takesItsTime(req);
  if (exchange.awaitsContinue) {
    exchange.awaitsContinue = false;
    res.writeContinue();
  }
  const memory = parts.overload.bodies.take(accountId, 0);
  exchange.bodyMemory = memory;
  const { limits } = parts.config;
  const run = new ImportRun(exchange, parts);
  try {
    const held = (bytes: number): void => memory.resize(bytes + run.heldBytes);
    const entries = importEntries(pacedBody(req, PACE), limits.recordsPerUpsertMax, held);
    for await (const entry of entries) await run.take(entry);
    exchange.result = await run.finish();
  } catch (error) {
    throw await run.failure(error);
  }
  exchange.actionEnded();
}

class ImportRun {
  readonly #exchange: Exchange;
  readonly #parts: StepParts;
  #stored = 0;
  /** Decoded, and written when it is known whether it is the last. */
  #waiting: RecordBatch | null = null;
  /** Lines that are records. */
  #records = 0;
  #headLine = 0;
  #endLine = 0;
  #isFirst = true;
  /** The first integer that no double holds. */
  #rounded: string | undefined;

  constructor(exchange: Exchange, parts: StepParts) {
    this.#exchange = exchange;
    this.#parts = parts;
  }

  async take(entry: ImportEntry): Promise<void> {
    const lines = await this.#decoded(entry);
    this.#checkFrame(lines, entry.numbers);
    if (lines.batch.ids.length === 0) return;
    const before = this.#waiting;
    // Not what follows an entry that could not be written.
    this.#waiting = null;
    if (before !== null) await this.#write(before, false);
    this.#waiting = lines.batch;
  }

  /** Of what is decoded and not written yet. */
  get heldBytes(): number {
    return this.#waiting === null ? 0 : batchBytes(this.#waiting);
  }

  async finish(): Promise<ImportResult & Warned> {
    const { dimensions } = this.#exchange.collection!;
    const nothing = { ids: [], dimensions, vectors: new Float32Array(0), metadata: [] };
    const last = this.#waiting ?? nothing;
    this.#waiting = null;
    const result = await this.#write(last, true);
    if (this.#headLine > 0 && this.#endLine === 0)
      throw invalid('body', 'an export with its last line', 'one that was cut off');
    const warned = this.#rounded !== undefined && { warnings: [roundingOf(this.#rounded)] };
    return { ...result, importedCount: this.#stored, ...warned };
  }

  /** What to throw for an error: what came before it is stored first, and told of. */
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
      return new ProvecError(code, `The collection was deleted during the import, with ${records} of it.`);
    const before = `${records} ${were} stored before.`;
    // Some end in a URL.
    const told = message.endsWith('.') ? `${message} ${before}` : `${before} ${message}`;
    return new ProvecError(code, told, { details, retryAfterSeconds, cause });
  }

  async #write(batch: RecordBatch, isLast: boolean): Promise<ImportResult> {
    const exchange = this.#exchange;
    const { accountId } = exchange;
    // The same one to the end, whatever bears its name or what an alias stands for by then.
    const { id: collectionId, name } = exchange.collection!;
    const permit = await this.#parts.overload.queues.write.enter(queueRequestOf(exchange));
    try {
      const params = { accountId, name, collectionId, batch, isAnchorAwaited: isLast };
      const result = (await attemptCall(exchange, this.#parts, params)) as ImportResult;
      this.#stored += result.importedCount;
      return result;
    } finally {
      permit.release();
    }
  }

  async #decoded(entry: ImportEntry): Promise<ImportedLines> {
    const { bytes, lines, numbers } = entry;
    const { bodies, clock, config } = this.#parts;
    const { dimensions, metric } = this.#exchange.collection!;
    const context = { limits: config.limits, shape: { dimensions, metric }, wallMs: clock.wallMs() };
    try {
      const decoded = await bodies.decode('import', bytes, context, queueRequestOf(this.#exchange));
      // A line that closes what it did not open may pass for several.
      this.#rounded ??= decoded.roundedInteger;
      if (decoded.lines.values === lines.length) return decoded.lines;
    } catch (error) {
      if (!isProvecError(error) || error.status >= 500) throw error;
      throw notJson(entry, config.limits) ?? withLineNumbers(error, numbers);
    }
    throw notJson(entry, config.limits);
  }

  /** The head of an export is the first line, its end the last, with the number of its records. */
  #checkFrame({ headAt, endAt, endCount, values }: ImportedLines, numbers: readonly number[]): void {
    const wrong = (at: number, got: string) => invalid(`line ${numbers[at]}`, 'a record', got);
    if (this.#endLine > 0) throw wrong(0, 'behind the end of an export');
    if (headAt > 0 || (headAt === 0 && !this.#isFirst)) throw wrong(headAt, 'the head of an export');
    if (endAt >= 0 && endAt < values - 1) throw wrong(endAt + 1, 'behind the end of an export');
    if (headAt === 0) this.#headLine = numbers[0];
    if (endAt >= 0) this.#endLine = numbers[endAt];
    this.#isFirst = false;
    this.#records += [headAt, endAt].reduce((count, at) => (at < 0 ? count : count - 1), values);
    // Without the head it may be of lines that were picked out of an export.
    if (this.#headLine > 0 && endCount !== null && endCount !== this.#records)
      throw invalid(`line ${this.#endLine}.end.count`, `${this.#records}, the number of records`, `${endCount}`);
  }
}

/** Says what is wrong with the first line that is no JSON object by itself; null where each is. */
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

/** With lines named as the client knows them. */
function withLineNumbers({ code, message, details }: ProvecError, numbers: readonly number[]): ProvecError {
  const named = (text: string): string =>
    text.replaceAll(/\blines\[(\d+)\]/g, (_, at) => `line ${numbers[Number(at)]}`);
  const told = details?.map((detail) => ({ ...detail, path: named(detail.path) }));
  return new ProvecError(code, named(message), { details: told });
}
