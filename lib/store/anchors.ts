import type { AnchoredRoot } from '../shard/collection-root.ts';
import { contains } from '../shard/cut.ts';
import type { Cut } from '../shard/head.ts';

/**
 * A transaction that was signed and may have been sent: `wire` is its base64 bytes, re-sent as they
 * are until it is confirmed or dead.
 */
export interface InFlight {
  step: 'create' | 'update' | 'close';
  signature: string;
  wire: string;
  /** Decimal string: past this block height the ledger can no longer take it. */
  lastValidBlockHeight: string;
  /** The cut it carries; null for create and close. */
  cut: Cut | null;
  /** The account's count of decisions once it has landed. */
  decisions: number;
}

export interface Confirmed extends AnchoredRoot {
  cut: Cut;
  signature: string;
  /** ISO 8601 UTC. */
  confirmedAt: string;
}

/** The outbox row of one collection. */
export interface AnchorRow {
  collectionId: string;
  /**
   * Counts every change, for compare-and-set. Begins at a random number, so that a row removed and
   * made again is never taken for the old one.
   */
  revision: number;
  /**
   * Counts, from the same number, the changes that decide what may be signed next: all but those of
   * what is wanted.
   */
  epoch: number;
  /** Ledger address (base58) of the collection's account. */
  address: string;
  created: boolean;
  /**
   * All that was ever asked for, the newer head of every shard: it contains `inFlight` and
   * `confirmed`. Null: nothing so far.
   */
  wanted: Cut | null;
  /** Since when some of it waits, ISO 8601 UTC, for people only; null when all is confirmed. */
  wantedAt: string | null;
  inFlight: InFlight | null;
  confirmed: Confirmed | null;
  /**
   * Set when a stored root contradicts the chain: nothing is anchored until an operator decides.
   */
  halted: { reason: string; at: string } | null;
  /**
   * What the ledger showed when an operator decided that what the shards hold is right, whatever it
   * is (`shownBy` in anchoring's recovery/reconciliation.ts); until the next confirmation. Null:
   * there is no such decision. It holds over that alone: carrying it out raises the account's count
   * of decisions, so it never fits again.
   */
  trusted: string | null;
  /**
   * Roots of which the ledger may hold one, of the time before roots were no longer anchored
   * (services/anchoring/recovery/retire.ts). Null: they are anchored.
   */
  lapsed: AnchoredRoot[] | null;
  /**
   * The collection is deleted: all that is left to do is to close its account and to forget the
   * row. Never taken back.
   */
  closing: boolean;
  /**
   * That a holder of the ledger's keypair wrote the row (anchoring's outbox/row-seal.ts), 64 hex
   * digits; empty before it is stored.
   */
  seal: string;
}

/** A row in which nothing was ever wanted or done. */
export function emptyRow(collectionId: string, address: string, revision: number): AnchorRow {
  return {
    collectionId,
    revision,
    epoch: revision,
    address,
    created: false,
    wanted: null,
    wantedAt: null,
    inFlight: null,
    confirmed: null,
    halted: null,
    trusted: null,
    lapsed: null,
    closing: false,
    seal: '',
  };
}

/**
 * Stands for a stored row that does not decode: nothing of it is known, and no seal fits it. With
 * something wanted, so that records go no further than they are.
 */
export function unreadableRow(collectionId: string, revision: number): AnchorRow {
  return { ...emptyRow(collectionId, '', revision), wanted: [] };
}

/** A row whose cuts have the form in which an adapter stores them. */
export type AnchorRowWith<C> = Omit<AnchorRow, 'wanted' | 'inFlight' | 'confirmed'> & {
  wanted: C | null;
  inFlight: (Omit<InFlight, 'cut'> & { cut: C | null }) | null;
  confirmed: (Omit<Confirmed, 'cut'> & { cut: C }) | null;
};

/** The row with each of its cuts converted. */
export function withCuts<From, To>(row: AnchorRowWith<From>, convert: (cut: From) => To): AnchorRowWith<To> {
  const { wanted, inFlight, confirmed } = row;
  return {
    ...row,
    wanted: wanted && convert(wanted),
    inFlight: inFlight && { ...inFlight, cut: inFlight.cut && convert(inFlight.cut) },
    confirmed: confirmed && { ...confirmed, cut: convert(confirmed.cut) },
  };
}

export type AnchorHistoryItem = Omit<Confirmed, 'cut' | 'decisions'>;

/** 'due': a transaction is to be sent or followed. 'halted': an operator is to decide. */
export type AnchorStanding = 'due' | 'halted' | 'settled';

export function standingOf(row: AnchorRow): AnchorStanding {
  if (row.closing) return 'due';
  if (row.halted !== null) return 'halted';
  return row.inFlight !== null || isWanting(row) ? 'due' : 'settled';
}

/** Whether something was asked for that is not confirmed. */
export function isWanting({ wanted, confirmed }: Pick<AnchorRow, 'wanted' | 'confirmed'>): boolean {
  return wanted !== null && (confirmed === null || !contains(confirmed.cut, wanted));
}

/** A row in brief. */
export type OpenAnchor = Pick<AnchorRow, 'collectionId' | 'wantedAt'>;

/**
 * One instance of the anchoring service. It lives while `beat` changes; others judge that by their
 * own clock.
 */
export interface AnchoringInstance {
  /** UUID of one life of one process. */
  instance: string;
  beat: number;
  /** Anchors confirmed by it, and its attempts that failed. */
  confirmed: number;
  failures: number;
}

/** A row that does not decode, or is another collection's, is given as `unreadableRow`. */
export interface AnchorStore {
  get(collectionId: string): Promise<AnchorRow | null>;
  /** Those rows of up to 100 collections that there are, in one reading, in any order. */
  getMany(collectionIds: string[]): Promise<AnchorRow[]>;
  /** Writes a collection's first row; false when it has one, which stays as it is. */
  add(row: AnchorRow): Promise<boolean>;
  /**
   * Writes the row if the stored revision is `row.revision - 1`; else, and where there is none,
   * changes nothing and returns false. Adds `history` in the same step.
   */
  put(row: AnchorRow, history?: AnchorHistoryItem): Promise<boolean>;
  all(): AsyncIterable<AnchorRow[]>;
  /** The rows of one standing, in pages; costs what they are, not what all rows are. */
  open(standing: Exclude<AnchorStanding, 'settled'>): AsyncIterable<OpenAnchor[]>;
  /**
   * Newest (highest version) first, those with version < `beforeVersion` (null: from the newest).
   */
  history(collectionId: string, limit: number, beforeVersion: number | null): Promise<AnchorHistoryItem[]>;
  /**
   * Removes row and history if the row is of this revision; false when it is not, and then some of
   * the history may be gone. True when there is no row.
   */
  remove(collectionId: string, revision: number): Promise<boolean>;
  /** Writes an instance's sign of life over its last one. */
  beat(instance: AnchoringInstance): Promise<void>;
  instances(): Promise<AnchoringInstance[]>;
  /**
   * Removes an instance that stopped or was found dead; one that lives all the same comes back with
   * its next beat. Idempotent.
   */
  endInstance(instance: string): Promise<void>;
}
