import { parseJson } from '../../../lib/json/text.ts';
import { TEST_KEY } from '../../support/tenant.ts';
import type { Operation } from './operation.ts';

/**
 * What became of a request: done; refused in words that say that nothing of it was done; or nobody
 * knows.
 */
export type Outcome = 'ok' | 'refused' | 'unknown';

export interface RecordedRequest {
  client: number;
  kind: 'upsert' | 'import' | 'update' | 'delete' | 'query' | 'queries' | 'fetch' | 'list' | 'export';
  outcome: Outcome;
  /** Records that it wrote, or may have written. */
  records: number;
  /** Of several in one request. */
  queries: number;
  /** Shards that it needs. */
  shards: number[];
  sentMs: number;
  answeredMs: number;
  /** Ticks, of one total order over all clients. */
  sent: number;
  answered: number;
  /** Of the collection after a write, where it was done. */
  version: number | null;
  failure: string | null;
}

export interface Asked {
  client: number;
  kind: RecordedRequest['kind'];
  records?: number;
  queries?: number;
  shards: number[];
  /** Text goes as newline-delimited JSON; of an export there is none. */
  body?: unknown;
}

/** What a request gave, and the ticks of its sending and its answer. */
export interface Told<T> {
  outcome: Outcome;
  body: T | null;
  sent: number;
  answered: number;
}

const REQUEST_MAX_MS = 90_000;
const CUT_OFF = 'the export was cut off';
/** Nothing of a request that was refused so was or will be done. */
const REFUSALS = new Set([400, 401, 403, 404, 405, 409, 413, 415, 429, 507]);

/** Sends requests to a collection and keeps what was sent and answered, in order. */
export class Recorder {
  readonly requests: RecordedRequest[] = [];
  readonly operations = new Map<string, Operation[]>();
  /** Requests that are not answered yet. */
  pending = 0;
  readonly #gatewayUrl: () => string;
  readonly #collection: string;
  #tick = 0;

  constructor(gatewayUrl: () => string, collection: string) {
    this.#gatewayUrl = gatewayUrl;
    this.#collection = collection;
  }

  async ask<T>({ body, records = 0, queries = 0, ...asked }: Asked): Promise<Told<T>> {
    const sent = this.#tick++;
    const sentMs = performance.now();
    this.pending++;
    const { status, answer, failure } = await this.#send(asked.kind, body);
    this.pending--;
    const outcome = status === 200 ? 'ok' : REFUSALS.has(status) ? 'refused' : 'unknown';
    const answered = this.#tick++;
    const { version = null, updatedCount } = (answer ?? {}) as { version?: number; updatedCount?: number };
    const answeredMs = performance.now();
    // A shard that moves cuts its exports off, and says so by the end that they lack.
    if (failure?.startsWith(CUT_OFF)) return { outcome, body: null, sent, answered };
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
    return { outcome, body: outcome === 'ok' ? (answer as T) : null, sent, answered };
  }

  note(id: string, operation: Operation): void {
    const operations = this.operations.get(id);
    if (operations) operations.push(operation);
    else this.operations.set(id, [operation]);
  }

  async #send(kind: string, body: unknown): Promise<{ status: number; answer: unknown; failure: string | null }> {
    try {
      const type = typeof body === 'string' ? 'application/x-ndjson' : 'application/json';
      const response = await fetch(`${this.#gatewayUrl()}/api/v1/collections/${this.#collection}/${kind}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': type },
        body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_MAX_MS),
      });
      const text = await response.text();
      const answer = kind === 'export' && response.ok ? exported(text) : (parseJson(text) as { error?: string });
      const failure = response.status === 200 ? null : `${response.status} ${(answer as { error?: string }).error}`;
      return { status: response.status, answer, failure };
    } catch (error) {
      const { message, cause } = error as Error;
      return { status: 0, answer: null, failure: `${message}: ${(cause as Error | undefined)?.message ?? ''}` };
    }
  }
}

/** The records; throws for one that was cut off. */
function exported(text: string): { records: unknown[] } {
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => parseJson(line) as Record<string, unknown>);
  if (!('end' in lines.at(-1)!)) throw new Error(CUT_OFF);
  return { records: lines.slice(1, -1) };
}
