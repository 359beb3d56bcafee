import type { AccountId, CollectionId } from '../../lib/ids.ts';
import type { PlanName } from '../../lib/plans.ts';
import type { RecordBatch } from '../../lib/records/batch.ts';
import type { Metric, Quantization } from '../../lib/records/metric.ts';
import type { AbsentField } from '../../lib/shard/field-report.ts';
import type { FetchedRecord, ListedRecord, ShardMatch } from '../../lib/shard/match.ts';
import type { MemoryParts } from '../../lib/shard/memory.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import type { Place } from '../requests/place.ts';
import type { DecodedRequest, RequestName } from '../requests/requests.ts';
import type { Tags } from '../requests/tags.ts';
import type { AnchorStatus, HistoryFault, LedgerInfo } from './anchoring.ts';

/** A collection as clients see it (snake_case as in the spec). */
export interface CollectionView {
  id: string;
  name: string;
  dimensions: number;
  metric: Metric;
  vector_count: number;
  created_at: string;
  shards: number;
  replicas: number;
  quantization: Quantization;
  deletionProtection: boolean;
  /** Absent if there are none. */
  tags?: Tags;
  /** Absent if the create request named none. */
  place?: Place;
}

export interface CollectionDetail extends CollectionView {
  merkleRoot: string;
  version: number;
  anchor: {
    /** `halted`: nothing is anchored until an operator resumes anchoring. */
    status: AnchorStatus | 'halted';
    version: number | null;
    merkleRoot: string | null;
    ledgerTx: string | null;
    ledgerAddress: string | null;
    ledgerExplorerUrl: string | null;
    confirmedAt: string | null;
  };
}

/** A field that no record in the request's namespaces has. */
export interface UnusedField extends AbsentField {
  /** True if the collection has no records in other namespaces: no record at all has the field. */
  isEverywhere: boolean;
}

export interface WithAbsentFields {
  /** Fields of the request that no record has. Absent if there are none or if this is unknown. */
  absentFields?: UnusedField[];
}

export interface WriteResult {
  merkleRoot: string;
  ledgerProgram: string;
  ledgerTx: string | null;
  ledgerExplorerUrl: string | null;
  version: number;
  vectorCount: number;
  anchor: { status: AnchorStatus };
}
export interface UpsertResult extends WriteResult {
  upsertedCount: number;
}
export interface ImportResult extends WriteResult {
  importedCount: number;
}
export interface DeleteResult extends WriteResult, WithAbsentFields {
  /** False for a dry run. */
  deleted: boolean;
  deletedCount: number;
}
export interface UpdateResult extends WriteResult, WithAbsentFields {
  /** Records found, changed or not. */
  matchedCount: number;
  updatedCount: number;
}

export interface CountResult extends WithAbsentFields {
  count: number;
}

export interface FacetsResult extends WithAbsentFields {
  /** The most frequent values, most frequent first. A list counts once for each of its elements. */
  values: { value: string | number | boolean | null; count: number }[];
  /** Records that do not have the field. */
  missing: number;
}

/** `nextCursor` is set if there are more records. */
export interface RecordsPage extends WithAbsentFields {
  records: ListedRecord[];
  nextCursor?: string;
}

/** Sorted by name; the default namespace is ''. `nextCursor` is set if there are more. */
export interface NamespacesPage {
  namespaces: { name: string; vectorCount: number }[];
  nextCursor?: string;
}

/** Where an export continues: the rest of each shard's snapshot, and the totals so far. */
export interface ExportPosition {
  collectionId: CollectionId;
  rests: { index: number; rest: string }[];
  merkleRoot: string;
  count: number;
  /** Maximum size of the next part, over all shards. */
  partMaxBytes: number;
}

export interface ExportedRecord extends FetchedRecord {
  namespace: string;
}

/** `head` is set in the first part, `end` in the last one, `next` in all others. */
export interface ExportPart {
  head?: {
    collectionId: CollectionId;
    name: string;
    dimensions: number;
    metric: Metric;
    version: number;
    merkleRoot: string;
    vectorCount: number;
  };
  records: ExportedRecord[];
  end?: { count: number; merkleRoot: string };
  next?: ExportPosition;
}

export interface QueryResult extends WithAbsentFields {
  /** Best match first. */
  matches: ShardMatch[];
  /** With `allowPartial`: numbers of shards queried, answered, and not reached in time. */
  shards?: { total: number; ok: number; failed: number };
}

/** A proof that `client/verify` checks offline: siblings from the root down. Hashes are hex. */
export interface RecordProof {
  format: 'PV1';
  id: string;
  /** Empty for the default namespace. */
  namespace: string;
  present: boolean;
  merkleRoot: string;
  version: number;
  siblings: string[];
  terminal: { key: string; vecHash: string; metaHash: string } | null;
  collectionId: CollectionId;
  ledgerAddress: string | null;
  /** The confirmed transaction that wrote this root and version; null if there is none. */
  ledgerTx: string | null;
}

/** `collection` is the name of the collection that the alias refers to. */
export interface AliasView {
  alias: string;
  collection: string;
}

/** Sorted by name; `nextCursor` is set if there are more. */
export interface AliasesPage {
  aliases: AliasView[];
  nextCursor?: string;
}

/** Newest first; `nextCursor` is set if there are more. */
export interface CollectionsPage {
  collections: CollectionView[];
  nextCursor?: string;
}

export interface AnchorsPage {
  anchors: {
    position: number;
    version: number;
    merkleRoot: string;
    vectorCount: number;
    decisions: number | null;
    ledgerTx: string;
    ledgerExplorerUrl: string | null;
    confirmedAt: string;
    sealed: boolean;
  }[];
  /** Absent if there are none. */
  faults?: HistoryFault[];
  dropped: number;
  nextCursor: string | null;
}

/** What a shard takes. All but `checkpointBytes` are null or absent unless it is open. */
export interface ShardMemoryView {
  shard: number;
  /** `unreachable`: its node does not answer. */
  state: 'open' | 'closed' | 'unreachable';
  bytes: number | null;
  parts?: MemoryParts;
  records: number | null;
  unindexed: number | null;
  logBytes: number | null;
  /** Stored checkpoints, in bytes. */
  checkpointBytes: number;
}

export interface CollectionMemory {
  /** Sum over the open shards. */
  bytes: number;
  shards: ShardMemoryView[];
}

/** Times are ISO 8601 UTC. */
export interface AuditLinkView {
  id: string;
  label: string | null;
  createdAt: string;
  expiresAt: string | null;
}

export interface NewAuditLink extends AuditLinkView {
  token: string;
}

/** Whose link a token is. */
export interface AuditLinkHolder {
  /** Id of the link. */
  id: string;
  accountId: AccountId;
  plan: PlanName;
}

/** What an audit link shows: roots, anchors and counts, no data. */
export interface AuditView extends Pick<CollectionDetail, 'merkleRoot' | 'version' | 'anchor'> {
  collectionId: string;
  label: string | null;
  expiresAt: string | null;
  vectorCount: number;
  ledger: Pick<LedgerInfo, 'program' | 'authority' | 'cluster'>;
  history: AnchorsPage;
}

export interface NamedCollection {
  accountId: AccountId;
  /** Name of the collection or an alias. Looked up unless one of the following is set. */
  name: string;
  /** The collection that the name resolved to less than half a second ago. */
  collection?: CollectionRow;
  /** The id that the name resolved to before; the call never applies to another collection. */
  collectionId?: CollectionId;
}

interface AnchorWaitOption {
  /** Whether the response waits for the anchor, up to the configured time. Default: true. */
  isAnchorAwaited?: boolean;
}

/** Parameters of an action whose result may have `absentFields`. */
export interface AbsentFieldsOption {
  /** Whether to report them. Default: false, because older gateways pass results on unchanged. */
  wantsAbsentFields?: boolean;
}

/** Parameters of an action that takes a request body, decoded for this collection. */
interface BodyParams<N extends RequestName> extends NamedCollection {
  body: DecodedRequest<N>;
}

/** Actions with a name throw COLLECTION_NOT_FOUND if the account has no such collection. */
export interface CollectionsActions {
  'collections.create': { params: { accountId: AccountId } & DecodedRequest<'createIndex'>; result: CollectionView };
  /** Pages of large collections may be short. With `isUncounted` every count is 0. */
  'collections.list': {
    params: { accountId: AccountId; limit?: number; cursor?: string; isUncounted?: boolean };
    result: CollectionsPage;
  };
  'collections.get': { params: NamedCollection; result: CollectionDetail };
  'collections.resolve': { params: NamedCollection; result: CollectionRow };
  /**
   * Returns the name of a collection or an alias that resembles `name`, or null. Reveals names, and
   * reads a page of each.
   */
  'collections.nearestName': { params: { accountId: AccountId; name: string }; result: string | null };
  'collections.update': { params: NamedCollection & DecodedRequest<'changeCollection'>; result: CollectionDetail };
  /** Throws FORBIDDEN if the collection is protected, NAME_IS_ALIAS and COLLECTION_HAS_ALIAS. */
  'collections.remove': { params: NamedCollection; result: { deleted: true } };
  'collections.upsert': {
    params: BodyParams<'upsert'> & AnchorWaitOption;
    result: UpsertResult;
  };
  /** Writes one batch of an import under stored ids. `importedCount` covers this batch only. */
  'collections.import': { params: NamedCollection & AnchorWaitOption & { batch: RecordBatch }; result: ImportResult };
  'collections.delete': {
    params: BodyParams<'delete'> & AbsentFieldsOption & AnchorWaitOption;
    result: DeleteResult;
  };
  'collections.updateRecords': {
    params: BodyParams<'update'> & AbsentFieldsOption & AnchorWaitOption;
    result: UpdateResult;
  };
  'collections.query': { params: BodyParams<'query'> & AbsentFieldsOption; result: QueryResult };
  'collections.queries': {
    params: BodyParams<'queries'> & AbsentFieldsOption;
    result: { results: QueryResult[] };
  };
  'collections.fetch': { params: BodyParams<'fetch'>; result: FetchedRecord[] };
  'collections.count': { params: BodyParams<'count'> & AbsentFieldsOption; result: CountResult };
  'collections.facets': { params: BodyParams<'facets'> & AbsentFieldsOption; result: FacetsResult };
  'collections.listRecords': { params: BodyParams<'list'> & AbsentFieldsOption; result: RecordsPage };
  /** Returns the part that follows `at`, or the first part without `at`. */
  'collections.export': { params: NamedCollection & { at?: ExportPosition }; result: ExportPart };
  /** Keeps the rest of the export after `at` for another 30 seconds, if it still exists. */
  'collections.keepExport': { params: NamedCollection & { at: ExportPosition }; result: null };
  /** Drops the rest of the export after `at`. */
  'collections.leaveExport': { params: NamedCollection & { at: ExportPosition }; result: null };
  'collections.namespaces': {
    params: NamedCollection & { prefix?: string; limit?: number; cursor?: string };
    result: NamespacesPage;
  };
  /** Throws NAMESPACE_NOT_FOUND if the namespace has no records. */
  'collections.deleteNamespace': {
    params: NamedCollection & AnchorWaitOption & { namespace: string };
    result: DeleteResult;
  };
  /**
   * Resolves when the shards with these indexes are open. Other calls throw SHARD_UNAVAILABLE,
   * before anything was done, if they wait longer than `meta.shardWaitMs` milliseconds for a shard.
   * A caller that holds resources sets it, releases them, waits here, and calls again.
   */
  'collections.whenReady': { params: NamedCollection & { shards: number[] }; result: null };
  'collections.proof': { params: NamedCollection & { id: string; namespace?: string }; result: RecordProof };
  'collections.anchors': { params: NamedCollection & { limit?: number; cursor?: string }; result: AnchorsPage };
  /** Returns what each shard takes. Opens no shard. */
  'collections.memory': { params: NamedCollection; result: CollectionMemory };
  /** Throws AUDIT_LINK_LIMIT_REACHED. Only this result has the token. */
  'collections.createAuditLink': {
    params: NamedCollection & { label?: string | null; expiresAt?: string | null };
    result: NewAuditLink;
  };
  'collections.auditLinks': { params: NamedCollection; result: { links: AuditLinkView[] } };
  /** Throws AUDIT_LINK_NOT_FOUND, as the next two do. */
  'collections.revokeAuditLink': { params: NamedCollection & { id: string }; result: { revoked: true } };
  'collections.auditLinkHolder': { params: { token: string }; result: AuditLinkHolder };
  'collections.auditView': { params: { token: string; limit?: number; cursor?: string }; result: AuditView };
  /** Creates an alias or points it to another collection. Throws as `Aliases.put` does. */
  'collections.putAlias': {
    params: { accountId: AccountId; alias: string; collection: string };
    result: AliasView & { created: boolean };
  };
  /** Throws ALIAS_NOT_FOUND, as `deleteAlias` does. */
  'collections.getAlias': { params: { accountId: AccountId; alias: string }; result: AliasView };
  'collections.deleteAlias': { params: { accountId: AccountId; alias: string }; result: { deleted: true } };
  'collections.aliasesPage': {
    params: { accountId: AccountId; limit: number; cursor?: string };
    result: AliasesPage;
  };
  /** Drops every collection of an account that is being deleted. */
  'collections.removeAll': { params: { accountId: AccountId }; result: null };
}
