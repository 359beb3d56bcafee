/** Deletes and updates by id, by filter or of all records, and dry runs that only count. */
import type { DeleteResult, UpdateResult } from '../../../contracts/actions/collections.ts';
import type { DecodedRequest } from '../../../contracts/requests/requests.ts';
import { mergeOf } from '../../../contracts/requests/update-request.ts';
import { notFound } from '../../../lib/errors.ts';
import type { Limits } from '../../../lib/limits.ts';
import { invalidValue } from '../../../lib/records/fields.ts';
import { storedId, storedIds } from '../../../lib/records/namespace.ts';
import type { MetadataMerge } from '../../../lib/shard/change.ts';
import { mergeFieldReports } from '../reads/absent-fields.ts';
import { countAbsent, countScope, scopeOf, totalOf } from '../reads/collection-reader.ts';
import { type Previews, previewMatching, previewUpdates, refuseTooLong, withoutValues } from './change-preview.ts';
import type { CollectionWriter, Write } from './collection-writer.ts';

/** Deletes the records that a request selects. Deletes do not count against the plan. */
export async function deleteRecords(
  writer: CollectionWriter,
  write: Write,
  { ids: given, dryRun, ...selected }: DecodedRequest<'delete'>,
): Promise<DeleteResult> {
  const scope = scopeOf(write, selected);
  const ids = given && storedIds(selected.namespace, given);
  if (!dryRun) return ids ? writer.delete(write, ids) : writer.deleteMatching(write, scope);
  const { count, ...found } = ids
    ? { count: ids.length - (await countAbsent(write, ids, write.time.openMaxMs)) }
    : await countScope(write, scope, write.time);
  return { deleted: false, deletedCount: count, ...(await writer.current(write)), ...found };
}

/** Deletes all records of a namespace. Throws NAMESPACE_NOT_FOUND if it has none. */
export async function deleteNamespace(
  writer: CollectionWriter,
  write: Write,
  namespace: string,
): Promise<DeleteResult> {
  const scope = { namespace, filter: null };
  if ((await countScope(write, scope, write.time)).count === 0) throw notFound('NAMESPACE_NOT_FOUND');
  return writer.deleteMatching(write, scope);
}

/**
 * Updates the records that a request selects. Each record that changes counts as one write.
 * Throws INVALID_ARGUMENT, also if the filter matches more records than one request may change.
 */
export async function updateRecords(
  writer: CollectionWriter,
  write: Write,
  request: DecodedRequest<'update'>,
  { metadataMaxBytes, updateMatchesMax }: Limits,
): Promise<UpdateResult> {
  const { dryRun } = request;
  const merge = checkedMerge(request);
  const scope = scopeOf(write, request);
  const updates = request.updates?.map((update) => ({
    ...update,
    id: storedId(request.namespace, update.id),
  }));
  if (updates) {
    const terms = { metadataMaxBytes, countsChanges: false };
    if (!dryRun) {
      await refuseTooLong(write, updates, metadataMaxBytes);
      return writer.update(write, updates, metadataMaxBytes);
    }
    const previews = await previewUpdates(write, withoutValues(updates), terms);
    const matchedCount = totalOf(matchedBy(previews));
    return { matchedCount, updatedCount: 0, ...(await writer.current(write)) };
  }
  const previews = await previewMatching(write, { ...scope, ...merge, metadataMaxBytes }, false);
  const matching = matchedBy(previews);
  const matchedCount = totalOf(matching);
  if (matchedCount > updateMatchesMax) {
    const most = updateMatchesMax.toLocaleString('en');
    throw invalidValue('filter', `a filter that at most ${most} records match`, `one that ${matchedCount} match`);
  }
  const found = mergeFieldReports([...previews.values()].map(({ fields }) => fields));
  if (dryRun) return { matchedCount, updatedCount: 0, ...(await writer.current(write)), ...found };
  if (matchedCount === 0) return { matchedCount, updatedCount: 0, ...(await writer.unchanged(write)), ...found };
  const some = new Map([...matching].filter(([, count]) => count > 0));
  const changed = { ...scope, fields: [], ...merge, metadataMaxBytes };
  return { ...(await writer.updateMatching(write, some, changed)), ...found };
}

const matchedBy = (previews: Previews): Map<number, number> =>
  new Map([...previews].map(([index, { matched }]) => [index, matched]));

/**
 * Returns the change that `filter` applies. Throws INVALID_ARGUMENT if it is missing, or is given
 * next to `updates`, which contain their own changes.
 */
function checkedMerge({ updates, setMetadata, unsetMetadata }: DecodedRequest<'update'>): MetadataMerge {
  const { set, unset } = mergeOf(setMetadata, unsetMetadata);
  const isGiven = set !== null || unset.length > 0;
  if (updates && isGiven) {
    const name = set === null ? 'unsetMetadata' : 'setMetadata';
    throw invalidValue(name, 'in each of updates if updates are given', 'outside them');
  }
  if (!updates && !isGiven) throw invalidValue('setMetadata', 'given, or unsetMetadata, or both', 'missing');
  return { set, unset };
}
