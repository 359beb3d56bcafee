/**
 * Usage of one account: writes and queries of one UTC month, vectors stored now. `queries` includes
 * the blocks that are open, whole.
 */
export interface UsageRow {
  writes: number;
  queries: number;
  vectors: number;
}

/**
 * Queries that one instance took beforehand; how many of them it has used is not known here until
 * the block is closed.
 */
export interface QueryBlock {
  /** UUID. */
  id: string;
  /** The node to ask for what is left. */
  node: string;
  granted: number;
}

export interface QueriesTaken {
  /** Open blocks included, whole. */
  queries: number;
  blocks: QueryBlock[];
}

/** Room that a write holds, from before it is sent until its outcome is known. */
export interface WriteHold {
  /** UUID. */
  id: string;
  writes: number;
  /** By how many the stored vectors can grow. */
  vectors: number;
  /** Stored vectors before the holder of this ticket began to count; null for a reservation. */
  baseline: number | null;
  /**
   * Changes with every renewal: who sees it stand still for long knows that the holder is gone, or
   * does not know the outcome.
   */
  beat: number;
}

/** All writes of one account that are under way, on whatever node. */
export interface WriteHolds {
  /** Counts the changes; 0 when nothing was ever held. */
  revision: number;
  holds: WriteHold[];
  /** Id of the hold that lets no other in. */
  alone: string | null;
  /** Who waited for room in a former version; always empty in what this one writes. */
  line: { instance: string; beat: number }[];
}

export interface UsageStore {
  /** Includes every committed log entry exactly once. */
  read(accountId: string, month: string): Promise<UsageRow>;
  readQueries(accountId: string, month: string): Promise<QueriesTaken>;
  /**
   * Takes min(count, limit - taken) queries as an open block and returns how many; 0 opens none.
   * `limit` null: `count`. Atomic. Asked again with the id of a block that is open, it returns what
   * that was granted, so that it can be repeated after an unknown outcome.
   */
  openBlock(
    accountId: string,
    month: string,
    block: Pick<QueryBlock, 'id' | 'node'>,
    count: number,
    limit: number | null,
  ): Promise<number>;
  /**
   * Ends a block and takes off what of it was not `used`, never below 0 in all. `used` below 0
   * takes off more than the block. Of several calls one counts; false when it was not open.
   */
  closeBlock(accountId: string, month: string, id: string, used: number): Promise<boolean>;
  readHolds(accountId: string): Promise<WriteHolds>;
  /**
   * Compare-and-set: writes if the stored revision is `next.revision - 1`; else changes nothing and
   * returns false.
   */
  replaceHolds(accountId: string, next: WriteHolds): Promise<boolean>;
}
