import { changesOf } from '../../../services/shards/entry.ts';
import type { LogEntry } from '../../../store/log.ts';

interface Version {
  seq: number;
  /** Null when deleted. */
  value: string | null;
}

/** The state of every record after every log entry. */
export class RecordHistory {
  readonly #versions = new Map<string, Version[]>();
  #length = 0;

  /** Number of entries added. */
  get length(): number {
    return this.#length;
  }

  /** Adds the next entry; returns the values that it wrote. */
  add(entry: LogEntry): string[] {
    this.#length = entry.seq;
    if (entry.kind !== 'write') return [];
    const written: string[] = [];
    for (const { id, record } of changesOf(entry.body, entry.seq)) {
      const value = record && valueIn(record.metadata);
      if (value !== null) written.push(value);
      const versions = this.#versions.get(id) ?? [];
      versions.push({ seq: entry.seq, value });
      this.#versions.set(id, versions);
    }
    return written;
  }

  ids(): Iterable<string> {
    return this.#versions.keys();
  }

  valueAt(id: string, seq: number): string | null {
    return this.#versions.get(id)?.findLast((version) => version.seq <= seq)?.value ?? null;
  }

  /** Whether the entry at `seq` wrote the record. */
  isWrittenAt(id: string, seq: number): boolean {
    return this.#versions.get(id)?.some((version) => version.seq === seq) ?? false;
  }

  /**
   * The first seq from `from` to `through` after which the record had `value`; null when it never
   * did.
   */
  firstWith(id: string, value: string | null, from: number, through: number): number | null {
    if (this.valueAt(id, from) === value) return from;
    const found = this.#versions.get(id)?.find((one) => one.seq > from && one.seq <= through && one.value === value);
    return found?.seq ?? null;
  }
}

/** The value of a simulated record. */
export function valueIn(metadata: Uint8Array): string {
  return (JSON.parse(Buffer.from(metadata).toString()) as { value: string }).value;
}
