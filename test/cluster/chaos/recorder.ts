import { parseJson } from '../../../lib/json/text.ts';
import { TEST_KEY } from '../../support/tenant.ts';
import type { Operation } from './operation.ts';

/** Outcome of a request: done; refused, so that it certainly had no effect; or unknown. */
type Outcome = 'ok' | 'refused' | 'unknown';

type RecordOperation = 'upsert' | 'import' | 'update' | 'delete' | 'query' | 'queries' | 'fetch' | 'list' | 'export';

export interface RecordedRequest {
  client: number;
  kind: RecordOperation | 'alias' | 'verification';
  outcome: Outcome;
  /** Number of records that it wrote or may have written. */
  records: number;
  /** Number of queries in one request. */
  queries: number;
  /** Shards that the request needs. */
  shards: number[];
  sentMs: number;
  answeredMs: number;
  /** Ticks in one total order over all clients. */
  sent: number;
  answered: number;
  /** Version of the collection after a successful write, else null. */
  version: number | null;
  failure: string | null;
}

export interface Asked {
  client: number;
  kind: RecordedRequest['kind'];
  records?: number;
  queries?: number;
  shards: number[];
  /** A string is sent as newline-delimited JSON. An export has no body. */
  body?: unknown;
  /** Default: the collection's operation of that kind. */
  route?: { method: string; path: string };
  /** Statuses that count as an answer; default 200. */
  answers?: readonly number[];
}

/** Response of a request, and the ticks when it was sent and answered. */
export interface Told<T> {
  outcome: Outcome;
  status: number;
  body: T | null;
  sent: number;
  answered: number;
}

const REQUEST_MAX_MS = 90_000;
const CUT_OFF = 'the export was cut off';
/** Statuses after which the request certainly has no effect. */
const REFUSALS = new Set([400, 401, 403, 404, 405, 409, 413, 415, 429, 507]);

/** Sends requests to a collection and keeps all requests and responses, in order. */
export class Recorder {
  readonly requests: RecordedRequest[] = [];
  readonly operations = new Map<string, Operation[]>();
  /** Operations on each alias, as on a record whose value is the collection's name. */
  readonly aliases = new Map<string, Operation[]>();
  /** Number of unanswered requests. */
  pending = 0;
  readonly #gatewayUrl: () => string;
  readonly collection: string;
  #tick = 0;

  constructor(gatewayUrl: () => string, collection: string) {
    this.#gatewayUrl = gatewayUrl;
    this.collection = collection;
  }

  async ask<T>({ body, records = 0, queries = 0, route, answers = [200], ...asked }: Asked): Promise<Told<T>> {
    const sent = this.#tick++;
    const sentMs = performance.now();
    this.pending++;
    const at = route ?? {
      method: body === undefined ? 'GET' : 'POST',
      path: `/collections/${this.collection}/${asked.kind}`,
    };
    const { status, answer } = await this.#send(at, body);
    this.pending--;
    const outcome = answers.includes(status) ? 'ok' : REFUSALS.has(status) ? 'refused' : 'unknown';
    const failure = outcome === 'ok' ? null : `${status} ${(answer as { error?: string }).error}`;
    const answered = this.#tick++;
    const { version = null, updatedCount } = (answer ?? {}) as { version?: number; updatedCount?: number };
    const answeredMs = performance.now();
    // A shard that moves cuts exports off; a missing end shows that.
    if (failure?.includes(CUT_OFF)) return { outcome, status, body: null, sent, answered };
    const written = updatedCount ?? records;
    this.requests.push({
      ...asked,
      records: written,
      queries,
      outcome,
      sentMs,
      answeredMs,
      sent,
      answered,
      version,
      failure,
    });
    return { outcome, status, body: outcome === 'ok' ? (answer as T) : null, sent, answered };
  }

  note(id: string, operation: Operation): void {
    add(this.operations, id, operation);
  }

  noteAlias(alias: string, operation: Operation): void {
    add(this.aliases, alias, operation);
  }

  async #send(
    { method, path }: { method: string; path: string },
    body: unknown,
  ): Promise<{ status: number; answer: unknown }> {
    try {
      const type = typeof body === 'string' ? 'application/x-ndjson' : 'application/json';
      const response = await fetch(`${this.#gatewayUrl()}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${TEST_KEY}`, ...(body !== undefined && { 'content-type': type }) },
        body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_MAX_MS),
      });
      const text = await response.text();
      const isExport = response.headers.get('content-type')?.startsWith('application/x-ndjson');
      return { status: response.status, answer: isExport ? exported(text) : parseJson(text) };
    } catch (error) {
      const { message, cause } = error as Error;
      return { status: 0, answer: { error: `${message}: ${(cause as Error | undefined)?.message ?? ''}` } };
    }
  }
}

function add(histories: Map<string, Operation[]>, name: string, operation: Operation): void {
  const operations = histories.get(name);
  if (operations) operations.push(operation);
  else histories.set(name, [operation]);
}

/** Returns the records; throws when the export was cut off. */
function exported(text: string): { records: unknown[] } {
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => parseJson(line) as Record<string, unknown>);
  if (!('end' in lines.at(-1)!)) throw new Error(CUT_OFF);
  return { records: lines.slice(1, -1) };
}
