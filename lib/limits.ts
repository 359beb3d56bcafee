/**
 * Every limit of the service with its unit. The entries of `LIMITS` can be lowered, never raised,
 * by PROVEC_LIMITS.
 */
export const LIMITS = Object.freeze({
  nameMaxChars: 64,
  /** Of an account. */
  aliasesMax: 1_000,
  /** Of a collection. */
  tagsMax: 20,
  tagNameMaxChars: 80,
  tagValueMaxChars: 120,
  dimensionsMax: 8_192,
  idMaxBytes: 512,
  namespaceMaxBytes: 512,
  metadataMaxBytes: 40 * 1024,
  metadataMaxLevels: 32,
  recordsPerUpsertMax: 1_000,
  idsPerRequestMax: 1_000,
  topKMax: 10_000,
  topKDefault: 10,
  queriesPerRequestMax: 100,
  updatesPerRequestMax: 1_000,
  updateMatchesMax: 100_000,
  unsetKeysMax: 1_000,
  facetsMax: 1_000,
  facetsDefault: 20,
  listPageMax: 1_000,
  listPageDefault: 100,
  namespacesPageMax: 1_000,
  namespacesPageDefault: 100,
  bodyMaxBytes: 64 * 1024 * 1024,
  jsonMaxLevels: 64,
  shardsMax: 256,
  replicasMax: 3,
  filterMaxLevels: 8,
  filterMaxConditions: 256,
  filterMaxInValues: 10_000,
  collectionsPageMax: 1_000,
  aliasesPageMax: 1_000,
  keysPageMax: 1_000,
  accountsPageMax: 1_000,
  anchorsPageMax: 1_000,
  anchorsPageDefault: 100,
  keyNameMaxChars: 64,
  accountNameMaxChars: 64,
});

export type LimitName = keyof typeof LIMITS;
export type Limits = Readonly<Record<LimitName, number>>;

/** Bounds inside the service that no client chooses. */
export const INTERNAL_LIMITS = Object.freeze({
  /** About, of a page of collections as JSON: tags make one up to 4 kB long. */
  collectionsPageMaxBytes: 384 * 1024,
  /** Shards whose heads a page of collections counts. */
  collectionsPageMaxShards: 4_096,
  /**
   * Four times what metadata of 40 KiB can have: the parser takes seconds for an object of
   * millions.
   */
  jsonObjectMaxKeys: 32_768,
  /** More than any record takes: the line is held while it comes. */
  importLineMaxBytes: 2 * 1024 * 1024,
  bodyParsedOffThreadMinBytes: 256 * 1024,
  /** Of bodies from their first byte until their action has ended. */
  bodiesInFlightMaxBytes: 256 * 1024 * 1024,
  bodiesSmallReserveBytes: 32 * 1024 * 1024,
  bodySmallMaxBytes: 1024 * 1024,
  /** Requests whose key has not been checked yet. */
  arrivalsMaxRequests: 4_096,
  /** Requests that wait for a permit at the gateway, in each of its queues. */
  waitingMaxRequests: 4_096,
  waitingPerAccountMaxRequests: 1_024,
  waitMaxMs: 10_000,
  /** Requests of one account that wait at a gateway for shards that are away. */
  awayPerAccountMaxRequests: 1_024,
  /**
   * Writes hold their permit while they wait for the ledger; what they take of memory is bounded by
   * their bodies.
   */
  writePermits: 1_024,
  verifyPermits: 32,
  otherPermits: 96,
  /** For deletes and what operators do. */
  unsharedPermitsPerAccount: 64,
  /**
   * Room for the largest answer that there is (topK 10,000 with values of 8,192 dimensions: 313
   * MiB) beside others.
   */
  answersMaxBytes: 512 * 1024 * 1024,
  answerMaxBytes: 320 * 1024 * 1024,
  answersSmallReserveBytes: 128 * 1024 * 1024,
  answerSmallMaxBytes: 1024 * 1024,
  textAnswersMaxBytes: 64 * 1024 * 1024,
  textAnswerSmallMaxBytes: 64 * 1024,
  textAnswerUncountedMaxBytes: 4 * 1024,
  answersTurnMs: 10,
  answerReadMinBytesPerSecond: 64 * 1024,
  answerReadWindowMs: 30_000,
  /** A shard forgets the rest of an answer when nobody asks for it for so long. */
  unaskedPageMaxMs: 30_000,
  requestHeaderTimeoutMs: 15_000,
  requestBodyTimeoutMs: 60_000,
  actionTimeoutMs: 60_000,
  shutdownMaxMs: 30_000,
  /** Room in that to say why it takes longer, before an orchestrator's SIGKILL. */
  shutdownMarginMs: 1_000,
  shardQueueMaxRequests: 4_096,
  shardQueueMaxBytes: 512 * 1024 * 1024,
  /** Of all writes that wait or run on a node; a quarter of its memory limit where that is less. */
  nodeWritesMaxBytes: 1024 * 1024 * 1024,
  /** Kept for deletes in a queue that is full of upserts. */
  shardQueueDeletesReserveRequests: 512,
  shardQueueDeletesReserveBytes: 32 * 1024 * 1024,
  groupCommitMaxRequests: 256,
  groupCommitMaxBytes: 4 * 1024 * 1024,
  /** Ids of a group of several writes: its root and its entry are worked out in one piece each. */
  groupCommitMaxRecords: 2_000,
  keyCacheMaxAgeMs: 500,
  keyCacheMaxEntries: 10_000,
  keyReadMaxMs: 5_000,
  keyLastUsedMinIntervalMs: 60_000,
  writeQuotaWaitMaxMs: 30_000,
  writeQuotaQueueMaxRequests: 4_096,
  writeTicketMaxMs: 60_000,
  writeReservationMaxMs: 120_000,
  writeHolderRenewMs: 2_000,
  /** Two renewals that did not come. */
  writeHoldOrphanedAfterMs: 5_000,
  writeHoldsMax: 1_024,
  queryBlockMax: 64,
  queryBlockIdleMaxMs: 2_000,
  queryBlockUnlimitedMax: 1_024,
  /** Longer than it takes the others to find a dead node dead. */
  queryBlockLostAfterMs: 10_000,
  queryRecallMaxMs: 1_000,
  queryQueueMaxRequests: 4_096,
  queryCpuMaxMs: 5_000,
  filterMaxListedValues: 100_000,
  meteringTickMs: 1_000,
  meteringMemoryMaxMs: 600_000,
  /** For how long another instance does what one failed to do. */
  meteringPassOverMs: 5_000,
  recomputeScansMax: 4,
  recomputeSessionsMax: 2_048,
  recomputeSessionIdleMaxMs: 300_000,
  /** Verifications in the background that an instance runs at a time. */
  verificationsMax: 32,
  verificationsKeptPerCollectionMax: 10,
  verificationsKeptMaxBytes: 32 * 1024 * 1024,
  verificationKeptMaxMs: 3_600_000,
});

/** What a process has for its stop, in milliseconds. */
export const STOP_MAX_MS = INTERNAL_LIMITS.shutdownMaxMs - INTERNAL_LIMITS.shutdownMarginMs;
