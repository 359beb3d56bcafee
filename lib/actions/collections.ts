import type { RecordBatch } from '../records/batch.ts';
import type { Place } from '../requests/place.ts';
import type { Tags } from '../requests/tags.ts';
import type { RecordUpdate } from '../shard/change.ts';
import type { AbsentField } from '../shard/field-report.ts';
import type { FetchedRecord, ListedRecord, ShardMatch } from '../shard/match.ts';
import type { CollectionRow, Metric, Quantization } from '../store/catalog.ts';
import type { AnchorStatus } from './anchoring.ts';

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
  /** Absent: none. */
  tags?: Tags;
  /** Absent if its creator named none. */
  place?: Place;
}

export interface CollectionDetail extends CollectionView {
  merkleRoot: string;
  version: number;
  anchor: {
    /** 'halted': nothing is anchored until an operator decides. */
    status: AnchorStatus | 'halted';
    version: number | null;
    merkleRoot: string | null;
    ledgerTx: string | null;
    ledgerAddress: string | null;
    ledgerExplorerUrl: string | null;
    confirmedAt: string | null;
  };
}

/** A field that no record of the request's namespaces has. */
export interface UnusedField extends AbsentField {
  /** Whether the collection has no other records, so that no record at all has the field. */
  isEverywhere: boolean;
}

export interface WithAbsentFields {
  /** Fields of the request that no record has. Missing if there are none, or none are known. */
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
  /** False of a dry run. */
  deleted: boolean;
  deletedCount: number;
}
export interface UpdateResult extends WriteResult, WithAbsentFields {
  /** Records that were found, changed or not. */
  matchedCount: number;
  updatedCount: number;
}

/** Exactly one of `ids`, `filter` and `all`. */
export interface DeleteRecords {
  ids?: string[];
  filter?: Record<string, unknown>;
  all?: boolean;
  /** Counts what would be deleted, and deletes nothing. */
  dryRun?: boolean;
  namespace?: string;
  /** Allowed only with a filter. */
  allNamespaces?: boolean;
}

/** Exactly one of `updates` and `filter`, which takes what is merged beside it. */
export interface UpdateRecords {
  updates?: RecordUpdate[];
  filter?: Record<string, unknown>;
  setMetadata?: string;
  unsetMetadata?: string[];
  dryRun?: boolean;
  namespace?: string;
}

export interface CreateCollection {
  name: string;
  dimensions: number;
  metric?: Metric;
  shards?: number;
  replicas?: number;
  quantization?: Quantization;
  deletionProtection?: boolean;
  tags?: Tags;
  place?: Place;
}

/** At least one of them. Tags are set one by one, and an empty one is removed. */
export interface ChangeCollection {
  deletionProtection?: boolean;
  tags?: Tags;
}

interface CollectionQuery {
  /** Exactly one of vector and id. */
  vector?: Float32Array | number[];
  id?: string;
  topK?: number;
  filter?: Record<string, unknown>;
  namespace?: string;
  /** Allowed only with a vector. */
  allNamespaces?: boolean;
  includeValues?: boolean;
  includeMetadata?: boolean;
  scoreThreshold?: number;
  exact?: boolean;
  /** `eventual`: copies may answer, which may be behind. Default: strong. */
  consistency?: Consistency;
  /** Answers with what can be reached, and says how much that is. Default: false. */
  allowPartial?: boolean;
}

export const CONSISTENCIES = ['strong', 'eventual'] as const;
export type Consistency = (typeof CONSISTENCIES)[number];

/** Which records are read; without `filter` all of the namespace. */
export interface Selected {
  filter?: Record<string, unknown>;
  namespace?: string;
  /** Selects records of all namespaces. */
  allNamespaces?: boolean;
  consistency?: Consistency;
}

export interface CountResult extends WithAbsentFields {
  count: number;
}

export interface FacetsResult extends WithAbsentFields {
  /** The values that occur most, most first; a list counts for each of its elements once. */
  values: { value: string | number | boolean | null; count: number }[];
  /** Records that do not have the field. */
  missing: number;
}

/** Which part of the records, in the order of their ids' UTF-8 bytes. */
interface ListRecords extends Selected {
  /** Only records whose ids begin with it. */
  prefix?: string;
  limit?: number;
  cursor?: string;
  includeValues?: boolean;
  includeMetadata?: boolean;
}

/** `nextCursor` where there are more. */
export interface RecordsPage extends WithAbsentFields {
  records: ListedRecord[];
  nextCursor?: string;
}

/** By name, the default one as ''; `nextCursor` where there are more. */
export interface NamespacesPage {
  namespaces: { name: string; vectorCount: number }[];
  nextCursor?: string;
}

/** Where an export goes on: what is left of each shard's snapshot, and what was given. */
export interface ExportPosition {
  collectionId: string;
  rests: { index: number; rest: string }[];
  merkleRoot: string;
  count: number;
}

export interface ExportedRecord extends FetchedRecord {
  namespace: string;
}

/** `head` in the first part, `end` in the last one, `next` in all others. */
export interface ExportPart {
  head?: {
    collectionId: string;
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
  /** Best first. */
  matches: ShardMatch[];
  /**
   * With `allowPartial` only: shards that were asked, that answered, and that could not be reached
   * in time.
   */
  shards?: { total: number; ok: number; failed: number };
}

/**
 * A proof that `client/verify` checks offline: siblings from the collection's root down. All hashes
 * are hex.
 */
export interface RecordProof {
  format: 'PV1';
  id: string;
  /** Empty: the default one. */
  namespace: string;
  present: boolean;
  merkleRoot: string;
  version: number;
  siblings: string[];
  terminal: { key: string; vecHash: string; metaHash: string } | null;
  collectionId: string;
  ledgerAddress: string | null;
  /** The confirmed transaction that wrote this root and version; null if there is none. */
  ledgerTx: string | null;
}

/** `collection`: the name of what it stands for. */
export interface AliasView {
  alias: string;
  collection: string;
}

/** By name; `nextCursor` where there are more. */
export interface AliasesPage {
  aliases: AliasView[];
  nextCursor?: string;
}

/** Newest first; `nextCursor` where there are more. */
export interface CollectionsPage {
  collections: CollectionView[];
  nextCursor?: string;
}

export interface AnchorsPage {
  anchors: {
    version: number;
    merkleRoot: string;
    vectorCount: number;
    ledgerTx: string;
    ledgerExplorerUrl: string | null;
    confirmedAt: string;
  }[];
  nextCursor: string | null;
}

export interface Named {
  accountId: string;
  /** Of the collection or an alias; looked up where neither of the following is given. */
  name: string;
  /** What the name resolved to less than half a second ago. */
  collection?: CollectionRow;
  /** What it resolved to before: no other will do, whatever has the name by now. */
  collectionId?: string;
}

/** Of a write. */
interface Awaiting {
  /** Whether the answer waits for the anchor, for as long as is configured. Default: true. */
  isAnchorAwaited?: boolean;
}

/** Parameters of an action whose result may have `absentFields`. */
export interface FieldsWanted {
  /** Whether to report them. Default: false, because earlier gateways send results unchanged. */
  wantsAbsentFields?: boolean;
}

/** Of an action that takes a request's body. */
interface Asked extends Named {
  /**
   * The body as the gateway decoded it for the collection that it names; else its fields stand
   * beside, as a client sends them, and are decoded here.
   */
  decoded?: object;
}

/**
 * Every action that takes a name throws COLLECTION_NOT_FOUND when the account has no such
 * collection.
 */
export interface CollectionsActions {
  'collections.create': { params: { accountId: string } & CreateCollection; result: CollectionView };
  /** A page has fewer than `limit` where they are large. `isUncounted`: with 0 for every count. */
  'collections.list': {
    params: { accountId: string; limit?: number; cursor?: string; isUncounted?: boolean };
    result: CollectionsPage;
  };
  'collections.get': { params: Named; result: CollectionDetail };
  'collections.resolve': { params: Named; result: CollectionRow };
  'collections.update': { params: Named & ChangeCollection; result: CollectionDetail };
  /**
   * Throws FORBIDDEN while the collection is protected, NAME_IS_ALIAS and COLLECTION_HAS_ALIAS.
   */
  'collections.remove': { params: Named; result: { deleted: true } };
  'collections.upsert': { params: Asked & Awaiting & { records?: unknown; namespace?: string }; result: UpsertResult };
  /**
   * One entry of an import, its records under their stored ids. `importedCount` is of this entry.
   */
  'collections.import': { params: Named & Awaiting & { batch: RecordBatch }; result: ImportResult };
  'collections.delete': { params: Asked & FieldsWanted & Awaiting & DeleteRecords; result: DeleteResult };
  'collections.updateRecords': { params: Asked & FieldsWanted & Awaiting & UpdateRecords; result: UpdateResult };
  'collections.query': { params: Asked & FieldsWanted & CollectionQuery; result: QueryResult };
  'collections.queries': {
    params: Asked & FieldsWanted & { queries?: CollectionQuery[] };
    result: { results: QueryResult[] };
  };
  'collections.fetch': {
    params: Asked & { ids?: string[]; namespace?: string; consistency?: Consistency };
    result: FetchedRecord[];
  };
  'collections.count': { params: Asked & FieldsWanted & Selected; result: CountResult };
  'collections.facets': {
    params: Asked & FieldsWanted & Selected & { field?: string; limit?: number };
    result: FacetsResult;
  };
  'collections.listRecords': { params: Asked & FieldsWanted & ListRecords; result: RecordsPage };
  /** The part that follows `at`; without, the first. */
  'collections.export': { params: Named & { at?: ExportPosition }; result: ExportPart };
  /** What follows `at` is kept for another half a minute, where it still is. */
  'collections.keepExport': { params: Named & { at: ExportPosition }; result: null };
  /** What follows `at` will not be asked for. */
  'collections.leaveExport': { params: Named & { at: ExportPosition }; result: null };
  'collections.namespaces': {
    params: Named & { prefix?: string; limit?: number; cursor?: string };
    result: NamespacesPage;
  };
  /** Throws NAMESPACE_NOT_FOUND where it holds no record. */
  'collections.deleteNamespace': { params: Named & Awaiting & { namespace: string }; result: DeleteResult };
  /**
   * Resolves when the shards, by index, are open. Reads and writes of records that find one away
   * for longer than `meta.shardWaitMs` milliseconds throw SHARD_UNAVAILABLE with its index, before
   * anything was done. A caller that holds resources sets it, releases them, waits here, and calls
   * again.
   */
  'collections.whenReady': { params: Named & { shards: number[] }; result: null };
  'collections.proof': { params: Named & { id: string; namespace?: string }; result: RecordProof };
  'collections.anchors': { params: Named & { limit?: number; cursor?: string }; result: AnchorsPage };
  /** Makes an alias, or switches it. Throws as `Aliases.put` does. */
  'collections.putAlias': {
    params: { accountId: string; alias: string; collection: string };
    result: AliasView & { created: boolean };
  };
  /** This and `deleteAlias` throw ALIAS_NOT_FOUND. */
  'collections.getAlias': { params: { accountId: string; alias: string }; result: AliasView };
  'collections.deleteAlias': { params: { accountId: string; alias: string }; result: { deleted: true } };
  /** All of an account: for gateways of an earlier version. */
  'collections.listAliases': { params: { accountId: string }; result: AliasView[] };
  'collections.aliasesPage': {
    params: { accountId: string; limit: number; cursor?: string };
    result: AliasesPage;
  };
  /** Drops every collection of an account, for its deletion. */
  'collections.removeAll': { params: { accountId: string }; result: null };
}
