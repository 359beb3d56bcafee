import canonicalize from 'canonicalize';
import { firstOf } from '../lib/checked-access.ts';
import type { MacPayload, Seals } from '../lib/secret/seals.ts';
import {
  type AuditEntry,
  type AuditItem,
  type AuditPage,
  type AuditRow,
  type AuditStore,
  auditHash,
  NO_HASH,
  OPERATOR_TRAIL,
  type StoredAudit,
} from './audit.ts';
import type { ForgedRows } from './forged-rows.ts';
import { StoreError } from './port.ts';
import type { Sealed } from './sealed.ts';

/** Number of entries kept in an account's trail. The operator's trail is never trimmed. */
export const KEPT_ENTRIES = 10_000;
/** Number of new entries after which a trail is trimmed. */
const TRIM_EVERY = 1_000;
const BATCH_MAX = 64;
/** Attempts to append after an unknown outcome. */
const ATTEMPTS_MAX = 3;

interface Waiting {
  entry: string;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Audit trails as chains of sealed rows. Entries that wait for the same trail are appended
 * together. If two processes append at once, the one that finds the position taken tries the next.
 */
export class ChainedAudit implements AuditStore {
  readonly #stored: StoredAudit;
  readonly #seals: Seals;
  readonly #forged: ForgedRows;
  /** Waiting entries by trail. A trail in the map is being appended to. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(stored: StoredAudit, seals: Seals, forged: ForgedRows) {
    this.#stored = stored;
    this.#seals = seals;
    this.#forged = forged;
  }

  append(trail: string, entry: AuditEntry): Promise<void> {
    const text = canonicalize(entry);
    if (text === undefined) throw new RangeError('an audit entry must be a JSON object');
    return new Promise((resolve, reject) => {
      const waiting = { entry: text, resolve, reject };
      const queue = this.#waiting.get(trail);
      if (queue !== undefined) {
        queue.push(waiting);
        return;
      }
      this.#waiting.set(trail, [waiting]);
      void this.#drain(trail);
    });
  }

  async page(trail: string, after: number, limit: number): Promise<AuditPage> {
    // The row before the page is needed to check the link to it.
    const rows = await this.#stored.page(trail, after, limit + 1);
    const last = await this.#stored.last(trail);
    const oldest = last === null || trail === OPERATOR_TRAIL ? 1 : Math.max(1, last.seq - KEPT_ENTRIES + 1);
    let before: AuditRow | null = rows[0]?.seq === after ? rows[0] : null;
    const items: AuditItem[] = [];
    for (const row of rows.filter(({ seq }) => seq > after).slice(0, limit)) {
      items.push(this.#itemOf(row, before, Math.max(after + 1, oldest)));
      before = row;
    }
    return { items, head: last && { seq: last.seq, hash: auditHash(last) } };
  }

  /** `first`: where a page is expected to begin if the row before it is not known. */
  #itemOf(row: Sealed<AuditRow>, before: AuditRow | null, first: number): AuditItem {
    const { seq, previous } = row;
    const item = { seq, previous, hash: auditHash(row) };
    if (!this.#seals.verifyHex(payloadOfAuditRow(row), row.seal)) {
      this.#forged.report('audit entry', `${row.trail} ${seq}`);
      return { ...item, entry: null, fault: 'The service did not write this entry.' };
    }
    const entry = JSON.parse(row.entry) as AuditEntry;
    return { ...item, entry, fault: brokenLink(row, before, first) };
  }

  async #drain(trail: string): Promise<void> {
    const queue = this.#waiting.get(trail) ?? [];
    while (queue.length > 0) {
      const batch = queue.splice(0, BATCH_MAX);
      try {
        await this.#appendAll(trail, batch);
      } catch (error) {
        // Those that were appended have resolved.
        for (const { reject } of batch) reject(error);
      }
    }
    this.#waiting.delete(trail);
  }

  async #appendAll(trail: string, batch: readonly Waiting[]): Promise<void> {
    let rest = batch;
    for (let unknowns = 0; rest.length > 0; ) {
      const rows = this.#chained(await this.#stored.last(trail), trail, rest);
      let count = 0;
      try {
        count = await this.#stored.append(rows);
      } catch (error) {
        unknowns += 1;
        if ((error as StoreError).kind !== 'unknown' || unknowns >= ATTEMPTS_MAX) throw error;
        count = await this.#countStored(rows);
      }
      for (const { resolve } of rest.slice(0, count)) resolve();
      rest = rest.slice(count);
      if (count > 0) await this.#trim(trail, firstOf(rows).seq, firstOf(rows).seq + count - 1);
    }
  }

  /** Returns rows that continue the trail after `last`. */
  #chained(last: AuditRow | null, trail: string, waiting: readonly Waiting[]): Sealed<AuditRow>[] {
    if (last !== null && !(last.seq >= 1 && last.seq < Number.MAX_SAFE_INTEGER - BATCH_MAX))
      throw new StoreError('damaged', `The audit trail ${trail} ends at a position that the service did not write.`);
    const rows: Sealed<AuditRow>[] = [];
    for (const { entry } of waiting) {
      const before = rows.at(-1) ?? last;
      const place = { trail, seq: (before?.seq ?? 0) + 1, previous: before === null ? NO_HASH : auditHash(before) };
      const row = { ...place, entry };
      rows.push({ ...row, seal: this.#seals.sealHex(payloadOfAuditRow(row)) });
    }
    return rows;
  }

  /** Counts the rows, from the first on, that an append with an unknown outcome has stored. */
  async #countStored(rows: readonly Sealed<AuditRow>[]): Promise<number> {
    const { trail, seq } = firstOf(rows);
    const found = await this.#stored.page(trail, seq, rows.length);
    const missing = rows.findIndex((row, index) => found[index]?.seal !== row.seal);
    return missing < 0 ? rows.length : missing;
  }

  async #trim(trail: string, from: number, through: number): Promise<void> {
    const isDue = Math.floor(through / TRIM_EVERY) > Math.floor((from - 1) / TRIM_EVERY);
    if (trail === OPERATOR_TRAIL || !isDue || through <= KEPT_ENTRIES) return;
    await this.#stored.trim(trail, through - KEPT_ENTRIES + 1);
  }
}

/** Returns what the seal of an audit entry covers. */
export function payloadOfAuditRow({ trail, seq, previous, entry }: AuditRow): MacPayload {
  return ['audit entry', trail, seq, previous, entry];
}

function brokenLink({ seq, previous }: AuditRow, before: AuditRow | null, first: number): string | null {
  const expected = before === null ? first : before.seq + 1;
  if (seq > expected) return `Entries ${expected} to ${seq - 1} are missing.`;
  const isLinked = before === null ? seq > 1 || previous === NO_HASH : previous === auditHash(before);
  return isLinked ? null : 'The entry before this one was changed.';
}
