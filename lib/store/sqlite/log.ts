import type { ShardHead } from '../../shard/shard-head.ts';
import type { ShardKey } from '../../shard/shard-key.ts';
import type { LogEntry, ShardLog } from '../log.ts';
import type { Remote } from './requests.ts';
import type { StoreThread } from './store-thread.ts';

const TRIM_SLICE_ENTRIES = 256;

/** The log, as the main thread sees it. */
export class SqliteLog implements ShardLog {
  readonly #thread: StoreThread;
  readonly #tables: Remote<'log'>;

  constructor(thread: StoreThread) {
    this.#thread = thread;
    this.#tables = thread.remote('log');
  }

  async append(entry: LogEntry): Promise<'committed' | 'conflict'> {
    if (entry.head.seq !== entry.seq) throw new RangeError('the head of an entry has its seq');
    // Copies: the caller keeps its own, and what lies behind a view would go along as a whole.
    const body = new Uint8Array(entry.body);
    const head = { ...entry.head, hash: new Uint8Array(entry.head.hash) };
    return this.#thread.call('log', 'append', [{ ...entry, head, body }], body.byteLength, [body.buffer]);
  }

  read(shard: ShardKey, afterSeq: number, maxBytes: number): Promise<LogEntry[]> {
    return this.#tables.read(shard, afterSeq, maxBytes);
  }

  head(shard: ShardKey): Promise<ShardHead | null> {
    return this.#tables.head(shard);
  }

  heads(collectionId: string): Promise<Map<number, ShardHead>> {
    return this.#tables.heads(collectionId);
  }

  async trim(shard: ShardKey, throughSeq: number): Promise<void> {
    while ((await this.#tables.trimSlice(shard, throughSeq, TRIM_SLICE_ENTRIES)) === TRIM_SLICE_ENTRIES);
  }

  firstSeq(shard: ShardKey): Promise<number | null> {
    return this.#tables.firstSeq(shard);
  }
}
