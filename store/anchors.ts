import type { CollectionId } from '../lib/ids.ts';
import type { AnchoredRoot } from '../lib/shard/collection-root.ts';
import { cutContains } from '../lib/shard/cut.ts';
import type { Cut } from '../lib/shard/head.ts';

/**
 * A signed transaction that may have been sent. `wire` is its base64 bytes, which are re-sent
 * unchanged until the transaction is confirmed or has expired.
 */
export interface InFlightTransaction {
  step: 'create' | 'update' | 'close';
  signature: string;
  wire: string;
  /** Last block height, as a decimal string, at which the ledger accepts the transaction. */
  lastValidBlockHeight: string;
  /** The cut that the transaction writes; null for create and close. */
  cut: Cut | null;
  /** The account's decision count after the transaction. */
  decisions: number;
}

export interface ConfirmedAnchor extends AnchoredRoot {
  cut: Cut;
  signature: string;
  /** ISO 8601 UTC. */
  confirmedAt: string;
}

/** The outbox row of one collection. */
export interface AnchorRow {
  collectionId: CollectionId;
  /**
   * Counts every change, for compare-and-set. Starts at a random number, so that a row that was
   * removed and recreated never matches the old one.
   */
  revision: number;
  /**
   * Counts, from the same start, the changes that decide what may be signed next: all except
   * changes of `wanted`.
   */
  epoch: number;
  /** Ledger address (base58) of the collection's account. */
  address: string;
  created: boolean;
  /**
   * The newest requested head of every shard. It always contains the cuts of `inFlight` and
   * `confirmed`. Null if nothing was requested yet.
   */
  wanted: Cut | null;
  /**
   * Time since which a request has been waiting, ISO 8601 UTC, for display only; null if everything
   * is confirmed.
   */
  wantedAt: string | null;
  inFlight: InFlightTransaction | null;
  confirmed: ConfirmedAnchor | null;
  /**
   * Set when a stored root contradicts the chain. Anchoring then stops until an operator decides.
   */
  halted: { reason: string; at: string } | null;
  /**
   * The ledger state (`shownBy` in anchoring's recovery/reconciliation.ts) for which an operator
   * decided to trust the shards; null if there is no such decision, and after the next
   * confirmation. The decision applies only while the ledger shows exactly this state. Carrying it
   * out raises the account's decision count, so it cannot apply twice.
   */
  trusted: string | null;
  /**
   * Roots that the ledger may still hold from before anchoring was switched off
   * (services/anchoring/recovery/retire.ts). Null while anchoring is on.
   */
  lapsed: AnchoredRoot[] | null;
  /**
   * The collection is deleted. Only its ledger account remains to be closed and the row to be
   * removed. Never reset.
   */
  closing: boolean;
  /**
   * Seal of a holder of the ledger's keypair (anchoring's outbox/row-seal.ts), 64 hex digits; empty
   * until the row is stored.
   */
  seal: string;
}

export function emptyAnchorRow(collectionId: CollectionId, address: string, revision: number): AnchorRow {
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
 * Returns a placeholder for a stored row that does not decode. No seal matches it. Its `wanted` is
 * not null, so shards hold back log entries from the materialised records.
 */
export function unreadableAnchorRow(collectionId: CollectionId, revision: number): AnchorRow {
  return { ...emptyAnchorRow(collectionId, '', revision), wanted: [] };
}

/** A row whose cuts are encoded the way an adapter stores them. */
export type AnchorRowWith<C> = Omit<AnchorRow, 'wanted' | 'inFlight' | 'confirmed'> & {
  wanted: C | null;
  inFlight: (Omit<InFlightTransaction, 'cut'> & { cut: C | null }) | null;
  confirmed: (Omit<ConfirmedAnchor, 'cut'> & { cut: C }) | null;
};

export function mapCuts<From, To>(row: AnchorRowWith<From>, convert: (cut: From) => To): AnchorRowWith<To> {
  const { wanted, inFlight, confirmed } = row;
  return {
    ...row,
    wanted: wanted && convert(wanted),
    inFlight: inFlight && { ...inFlight, cut: inFlight.cut && convert(inFlight.cut) },
    confirmed: confirmed && { ...confirmed, cut: convert(confirmed.cut) },
  };
}

/** A confirmed root in a collection's history. Items of earlier versions have no `place`. */
export interface AnchorHistoryItem extends Omit<ConfirmedAnchor, 'cut' | 'decisions'> {
  decisions?: number;
  place?: HistoryPlace;
}

/** Place of an item in its collection's history, with a seal by the ledger's keypair. */
export interface HistoryPlace {
  /** One more than that of the item before it. */
  position: number;
  /** Position of the first item from which on every item up to this one has a seal. */
  start: number;
  /** Seal over the item and its place (anchoring's outbox/anchor-history.ts), 64 hex digits. */
  seal: string;
}

/** Returns the position of an item in the history. Items of earlier versions have their version. */
export function historyPositionOf({ place, version }: Pick<AnchorHistoryItem, 'place' | 'version'>): number {
  return place?.position ?? version;
}

/** 'due': a transaction must be sent or followed. 'halted': an operator must decide. */
export type OutboxState = 'due' | 'halted' | 'settled';

export function outboxStateOf(row: AnchorRow): OutboxState {
  if (row.closing) return 'due';
  if (row.halted !== null) return 'halted';
  return row.inFlight !== null || hasUnconfirmedCut(row) ? 'due' : 'settled';
}

export function hasUnconfirmedCut({ wanted, confirmed }: Pick<AnchorRow, 'wanted' | 'confirmed'>): boolean {
  return wanted !== null && (confirmed === null || !cutContains(confirmed.cut, wanted));
}

export type OpenAnchor = Pick<AnchorRow, 'collectionId' | 'wantedAt'>;

/**
 * One instance of the anchoring service. It is alive while `beat` changes; other instances measure
 * that on their own clocks.
 */
export interface AnchoringInstance {
  /** UUID, new for every start of the process. */
  instance: string;
  beat: number;
  /** Anchors confirmed, and attempts failed, by this instance. */
  confirmed: number;
  failures: number;
}

/**
 * Rows that do not decode, or that belong to another collection, are returned as
 * `unreadableAnchorRow`.
 */
export interface AnchorStore {
  get(collectionId: CollectionId): Promise<AnchorRow | null>;
  /** Returns the existing rows of up to 100 collections, in one read, in any order. */
  getMany(collectionIds: CollectionId[]): Promise<AnchorRow[]>;
  /** Inserts a collection's first row; returns false and changes nothing if it already has one. */
  add(row: AnchorRow): Promise<boolean>;
  /**
   * Writes the row, and adds `history` in the same step, if the stored revision is `row.revision -
   * 1`; otherwise changes nothing and returns false.
   */
  put(row: AnchorRow, history?: AnchorHistoryItem): Promise<boolean>;
  all(): AsyncIterable<AnchorRow[]>;
  /**
   * Iterates over the rows with this status, in pages. Costs as much as those rows, not as all
   * rows.
   */
  open(standing: Exclude<OutboxState, 'settled'>): AsyncIterable<OpenAnchor[]>;
  /** Returns items with a position below `before` (null: all), highest position first. */
  history(collectionId: CollectionId, limit: number, before: number | null): Promise<AnchorHistoryItem[]>;
  /** Removes items with a position below `before`. Idempotent. */
  trimHistory(collectionId: CollectionId, before: number): Promise<void>;
  /**
   * Removes the row and its history if the row has this revision, or does not exist. Returns false
   * if the revision differs; some of the history may then be gone.
   */
  remove(collectionId: CollectionId, revision: number): Promise<boolean>;
  /** Overwrites the instance's previous heartbeat. */
  beat(instance: AnchoringInstance): Promise<void>;
  instances(): Promise<AnchoringInstance[]>;
  /**
   * Removes an instance that stopped or was found dead. If it is still alive, its next beat adds it
   * again. Idempotent.
   */
  endInstance(instance: string): Promise<void>;
}
