import { createHash } from 'node:crypto';
import type { Api } from '../../client/index.ts';
import { canonicalJson } from '../../client/verify/canonical-json.ts';

/** Checks that the entries of a trail continue one another, by the hashes of docs/audit.md. */
export class AuditChain {
  readonly #trail: string;
  #last: Api.AuditHead | null = null;

  constructor(trail: string) {
    this.#trail = trail;
  }

  /** Position and hash of the entry that was checked last. */
  get last(): Api.AuditHead | null {
    return this.#last;
  }

  /** Returns what is wrong with the next entry, as a sentence; null if nothing is. */
  faultOf(entry: Api.AuditEntry): string | null {
    const { seq, previousHash, hash, fault, ...change } = entry;
    const last = this.#last;
    this.#last = { seq, hash };
    if (fault !== undefined) return fault;
    if (hash !== hashOf([this.#trail, seq, previousHash, canonicalJson(change)]))
      return 'The entry does not have the content that its hash is of.';
    if (last === null) return null;
    if (seq !== last.seq + 1) return `The entry after ${last.seq} is missing.`;
    return previousHash === last.hash ? null : 'The entry does not continue the one before it.';
  }

  /** Returns what is wrong with the newest entry of the trail; null if nothing is. */
  faultOfHead(head: Api.AuditHead | undefined): string | null {
    const last = this.#last;
    if (last === null || (head !== undefined && head.seq > last.seq)) return null;
    if (head === undefined || head.seq < last.seq) return `The entries up to ${last.seq} are no longer there.`;
    return head.hash === last.hash ? null : `The entry ${last.seq} is no longer the one that was there.`;
  }
}

const hashOf = (place: readonly unknown[]): string => createHash('sha256').update(JSON.stringify(place)).digest('hex');
