import type { ShardHead } from '../../shard/shard-head.ts';
import type { ShardKey } from '../../shard/shard-key.ts';
import type { LogEntry, ShardLog } from '../log.ts';
import type { Environment, Table } from './environment.ts';
import { decodeEntry, encodeEntry } from './log-entry-codec.ts';
import { decodeRow, encodeRow, type HeadJson, headFromJson, headToJson } from './row-codec.ts';
import { idPart, lastNumber, numberPart, prefixRange, shardIndex, shardPart } from './row-key.ts';
import type { LmdbUsage } from './usage.ts';

const TRIM_SLICE_ENTRIES = 256;

/** Entries, heads and tallies in one environment, so that one commit holds all three. */
export class LmdbLog implements ShardLog {
  readonly #env: Environment;
  readonly #entries: Table;
  readonly #heads: Table;
  readonly #usage: LmdbUsage;

  constructor(env: Environment, usage: LmdbUsage) {
    this.#env = env;
    this.#usage = usage;
    this.#entries = env.table('entries');
    this.#heads = env.table('heads');
  }

  async append(entry: LogEntry): Promise<'committed' | 'conflict'> {
    if (entry.head.seq !== entry.seq) throw new RangeError('the head of an entry has its seq');
    const shard = shardPart(entry.shard);
    const key = Buffer.concat([shard, numberPart(entry.seq)]);
    const value = encodeEntry(entry);
    return this.#env.write(() => {
      const newest = this.#readHead(shard)?.seq ?? 0;
      if (entry.seq <= newest) return 'conflict';
      if (entry.seq > newest + 1) throw new RangeError(`entry ${entry.seq} would leave a gap after ${newest}`);
      this.#usage.count(entry);
      this.#entries.putSync(key, value);
      this.#heads.putSync(shard, encodeRow(headToJson(entry.head)));
      return 'committed';
    }, value.byteLength);
  }

  async read(shard: ShardKey, afterSeq: number, maxBytes: number): Promise<LogEntry[]> {
    const part = shardPart(shard);
    return this.#env.read(() => {
      const entries: LogEntry[] = [];
      let bytes = 0;
      const { end } = prefixRange(part);
      const start = Buffer.concat([part, numberPart(afterSeq + 1)]);
      for (const key of this.#entries.getKeys({ start, end })) {
        const value = this.#entries.getBinary(key);
        if (value === undefined) break;
        const entry = decodeEntry(shard, lastNumber(key), value);
        bytes += entry.body.byteLength;
        if (entries.length > 0 && bytes > maxBytes) break;
        entries.push(entry);
      }
      return entries;
    });
  }

  async head(shard: ShardKey): Promise<ShardHead | null> {
    return this.#env.read(() => this.#readHead(shardPart(shard)));
  }

  async heads(collectionId: string): Promise<Map<number, ShardHead>> {
    return this.#env.read(() => {
      const heads = new Map<number, ShardHead>();
      for (const { key, value } of this.#heads.getRange(prefixRange(idPart(collectionId)))) {
        heads.set(shardIndex(key), decodeHead(value));
      }
      return heads;
    });
  }

  async trim(shard: ShardKey, throughSeq: number): Promise<void> {
    const part = shardPart(shard);
    const range = { start: part, end: Buffer.concat([part, numberPart(throughSeq + 1)]), limit: TRIM_SLICE_ENTRIES };
    const removeSlice = () => {
      const keys = [...this.#entries.getKeys(range)].map((key) => Buffer.from(key));
      for (const key of keys) this.#entries.removeSync(key);
      return keys.length;
    };
    while ((await this.#env.write(removeSlice)) === TRIM_SLICE_ENTRIES);
  }

  async firstSeq(shard: ShardKey): Promise<number | null> {
    return this.#env.read(() => {
      for (const key of this.#entries.getKeys({ ...prefixRange(shardPart(shard)), limit: 1 })) return lastNumber(key);
      return null;
    });
  }

  /** The tables whose keys start with the collection. */
  get tables(): Table[] {
    return [this.#entries, this.#heads];
  }

  #readHead(shard: Buffer): ShardHead | null {
    const value = this.#heads.getBinary(shard);
    return value === undefined ? null : decodeHead(value);
  }
}

function decodeHead(value: Uint8Array): ShardHead {
  return headFromJson(decodeRow<HeadJson>(value, 'A shard head'));
}
