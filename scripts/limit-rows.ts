import { INTERNAL_LIMITS, LIMITS, type LimitName } from '../lib/limits.ts';
import { formatNumber } from './markdown.ts';

const MEANINGS: Readonly<Record<LimitName, string>> = {
  nameMaxChars: 'Characters of the name of a collection.',
  aliasesMax: 'Aliases of an account.',
  tagsMax: 'Tags of a collection.',
  tagNameMaxChars: 'Characters of the name of a tag.',
  tagValueMaxChars: 'Characters of a tag.',
  dimensionsMax: 'Numbers in a vector.',
  idMaxBytes: "Bytes of a record's id in UTF-8.",
  namespaceMaxBytes: "Bytes of a namespace's name in UTF-8.",
  metadataMaxBytes: "Bytes of a record's metadata as compact JSON.",
  metadataMaxLevels: 'Levels of objects and lists in metadata; the outermost object is one.',
  recordsPerUpsertMax: 'Records in an upsert, and lines of an import that are written together.',
  idsPerRequestMax: 'Ids in a fetch or a delete.',
  topKMax: 'Matches of a query.',
  topKDefault: 'Matches that a query returns unless it names a number.',
  queriesPerRequestMax: 'Queries in one request.',
  updatesPerRequestMax: 'Updates by id in one request.',
  updateMatchesMax: 'Records that an update by filter may match.',
  unsetKeysMax: 'Keys that an update removes.',
  facetsMax: 'Values that facets return.',
  facetsDefault: 'Values that facets return unless the request names a number.',
  listPageMax: 'Records on a page of a list.',
  listPageDefault: 'Records on a page of a list unless the request names a number.',
  namespacesPageMax: 'Namespaces on a page.',
  namespacesPageDefault: 'Namespaces on a page unless the request names a number.',
  bodyMaxBytes: 'Bytes of a body. An import as a whole has no limit.',
  jsonMaxLevels: 'Levels of objects and lists in a body.',
  shardsMax: 'Shards of a collection.',
  replicasMax: 'Followers of a shard.',
  filterMaxLevels: 'Levels of a filter; the outermost object is one.',
  filterMaxConditions: 'Conditions in a filter.',
  filterMaxInValues: 'Values in a list of `$in` or `$nin`.',
  collectionsPageMax: 'Collections on a page, even without `limit`. A page ends earlier at about 400 kB.',
  aliasesPageMax: 'Aliases on a page, even without `limit`.',
  keysPageMax: 'API keys on a page, even without `limit`.',
  accountsPageMax: 'Accounts on a page, even without `limit`.',
  anchorsPageMax: 'Anchors on a page.',
  anchorsPageDefault: 'Anchors on a page unless the request names a number.',
  keyNameMaxChars: 'Characters of the name of a key.',
  auditLinksMax: 'Audit links of a collection.',
  auditLinkLabelMaxChars: 'Characters of the label of an audit link.',
  accountNameMaxChars: 'Characters of the name of an account.',
};

/** Limits that operators cannot change. */
const FIXED_MEANINGS: Partial<Readonly<Record<keyof typeof INTERNAL_LIMITS, string>>> = {
  importLineMaxBytes: 'Bytes of a line of an import, without its end.',
  jsonObjectMaxKeys: 'Keys of an object in a body, or in a line of an import.',
  fieldNameMaxBytes:
    'Bytes in UTF-8 of a name in a body: of a metadata key, or of a field in a filter. Stored records may have longer ones from before this limit.',
};

/** Name, value and meaning of each request limit, as table rows. */
export const LIMIT_ROWS = rowsOf(MEANINGS, LIMITS);
export const FIXED_LIMIT_ROWS = rowsOf(FIXED_MEANINGS, INTERNAL_LIMITS);

function rowsOf(meanings: Readonly<Record<string, string>>, values: Readonly<Record<string, number>>): string[][] {
  return Object.entries(meanings).map(([name, meaning]) => [`\`${name}\``, formatNumber(values[name]!), meaning]);
}
