/** Every limit of the service, with its unit. PROVEC_LIMITS can only lower those in `LIMITS`. */
export const LIMITS = Object.freeze({
  nameMaxChars: 64,
  /** Aliases per account. */
  aliasesMax: 1_000,
  /** Tags per collection. */
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
  /** Audit links per collection. */
  auditLinksMax: 100,
  auditLinkLabelMaxChars: 64,
  accountNameMaxChars: 64,
});

export type LimitName = keyof typeof LIMITS;
export type Limits = Readonly<Record<LimitName, number>>;

/** Internal bounds that clients do not choose. */
export const INTERNAL_LIMITS = Object.freeze({
  /** Approximate size as JSON. The tags of one collection take up to 4 kB. */
  collectionsPageMaxBytes: 384 * 1024,
  /** Shards whose heads are read to count the vectors of one page of collections. */
  collectionsPageMaxShards: 4_096,
  /**
   * Four times as many keys as 40 KiB of metadata can have. Parsing an object with millions of keys
   * takes seconds.
   */
  jsonObjectMaxKeys: 32_768,
  /** V8 hashes a string of more than 16,383 characters by its length only. */
  fieldNameMaxBytes: 16_000,
  /** More than any record takes. The whole line is buffered while it arrives. */
  importLineMaxBytes: 2 * 1024 * 1024,
  bodyParsedOffThreadMinBytes: 256 * 1024,
  /** Total size of bodies, each counted from its first byte until its action has ended. */
  bodiesInFlightMaxBytes: 256 * 1024 * 1024,
  bodiesSmallReserveBytes: 32 * 1024 * 1024,
  bodySmallMaxBytes: 1024 * 1024,
  /** Requests whose key has not been checked yet. */
  arrivalsMaxRequests: 4_096,
  /** Requests waiting for a permit in each queue of the gateway. */
  waitingMaxRequests: 4_096,
  waitingPerAccountMaxRequests: 1_024,
  waitMaxMs: 10_000,
  /** Requests of one account that wait in a gateway for unavailable shards. */
  awayPerAccountMaxRequests: 1_024,
  /** Writes keep their permit while they wait for the ledger; bodies are bounded separately. */
  writePermits: 1_024,
  verifyPermits: 32,
  otherPermits: 96,
  /** Requests per second with the operator's token, on each gateway. */
  operatorRequestsPerSecond: 200,
  /** Requests per second with audit links: from one address, and with one link, on each gateway. */
  auditAddressRequestsPerSecond: 20,
  auditLinkRequestsPerSecond: 50,
  /** Permits per account for deletes and operator requests. */
  perAccountPermits: 64,
  /** Room for the largest answer (topK 10,000, values of 8,192 dimensions: 313 MiB) and others. */
  answersMaxBytes: 512 * 1024 * 1024,
  answerMaxBytes: 320 * 1024 * 1024,
  answersSmallReserveBytes: 128 * 1024 * 1024,
  answerSmallMaxBytes: 1024 * 1024,
  textAnswersMaxBytes: 64 * 1024 * 1024,
  textAnswerSmallMaxBytes: 64 * 1024,
  textAnswerUncountedMaxBytes: 4 * 1024,
  answerReadMinBytesPerSecond: 64 * 1024,
  answerReadWindowMs: 30_000,
  /** Time after which a shard drops the rest of an answer that the caller does not fetch. */
  unaskedPageMaxMs: 30_000,
  requestHeaderTimeoutMs: 15_000,
  requestBodyTimeoutMs: 60_000,
  actionTimeoutMs: 60_000,
  shutdownMaxMs: 30_000,
  /** Part of `shutdownMaxMs` for reporting what blocks the stop, before an external SIGKILL. */
  shutdownMarginMs: 1_000,
  shardQueueMaxRequests: 4_096,
  shardQueueMaxBytes: 512 * 1024 * 1024,
  /** All waiting and running writes of a node; a quarter of its memory limit if that is less. */
  nodeWritesMaxBytes: 1024 * 1024 * 1024,
  /** Room for deletes in a queue that is full of upserts. */
  shardQueueDeletesReserveRequests: 512,
  shardQueueDeletesReserveBytes: 32 * 1024 * 1024,
  groupCommitMaxRequests: 256,
  groupCommitMaxBytes: 4 * 1024 * 1024,
  /** Ids in a group of writes: its root and log entry are each computed without yielding. */
  groupCommitMaxRecords: 2_000,
  /** A message of an agent is parsed on the main thread. */
  mcpBodyMaxBytes: 512 * 1024,
  /** Ids and metadata in the answer to an agent; what does not fit is named and left out. */
  mcpAnswerMaxBytes: 64 * 1024,
  mcpRecordsMax: 32,
  mcpIdsMax: 100,
  mcpTopKMax: 50,
  mcpPageMax: 100,
  /** Requests to the embeddings endpoint at one time. */
  embeddingsPermits: 16,
  embeddingsTimeoutMs: 15_000,
  keyCacheMaxAgeMs: 500,
  keyCacheMaxEntries: 10_000,
  keyReadMaxMs: 5_000,
  keyLastUsedMinIntervalMs: 60_000,
  writeQuotaWaitMaxMs: 30_000,
  writeQuotaQueueMaxRequests: 4_096,
  writeTicketMaxMs: 60_000,
  writeReservationMaxMs: 120_000,
  writeHolderRenewMs: 2_000,
  /** Two missed renewals. */
  writeHoldOrphanedAfterMs: 5_000,
  writeHoldsMax: 1_024,
  queryBlockMax: 64,
  queryBlockIdleMaxMs: 2_000,
  queryBlockUnlimitedMax: 1_024,
  /** Longer than other nodes need to detect a dead node. */
  queryBlockLostAfterMs: 10_000,
  queryRecallMaxMs: 1_000,
  queryQueueMaxRequests: 4_096,
  queryCpuMaxMs: 5_000,
  filterMaxListedValues: 100_000,
  meteringTickMs: 1_000,
  meteringMemoryMaxMs: 600_000,
  /** Time for which another instance takes over after a failed call. */
  meteringPassOverMs: 5_000,
  recomputeScansMax: 4,
  recomputeSessionsMax: 2_048,
  recomputeSessionIdleMaxMs: 300_000,
  /** Verifications that an instance runs in the background at one time. */
  verificationsMax: 32,
  verificationsKeptPerCollectionMax: 10,
  verificationsKeptMaxBytes: 32 * 1024 * 1024,
  verificationKeptMaxMs: 3_600_000,
});

/** Time that a process has to stop, in milliseconds. */
export const STOP_MAX_MS = INTERNAL_LIMITS.shutdownMaxMs - INTERNAL_LIMITS.shutdownMarginMs;
