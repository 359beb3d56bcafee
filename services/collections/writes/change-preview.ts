/** Previews what merges would change in a collection's current records, shard by shard. */

import { type Caller, call } from '../../../contracts/actions/call.ts';
import { itemAt } from '../../../lib/checked-access.ts';
import { invalidValue } from '../../../lib/records/fields.ts';
import type { ChangePreview, PreviewOptions, RecordUpdate } from '../../../lib/shard/change.ts';
import { shardSpec, shardSpecs } from '../../../lib/shard/spec.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import { readShard } from '../reads/shard-reader.ts';
import { shardIndexOf } from '../shard-routing.ts';
import type { MatchingMerge } from './change-rounds.ts';
import type { WriteTime } from './write-time.ts';

/** Collection whose changes are previewed; `time` limits the wait for an unavailable shard. */
interface Previewed {
  caller: Caller;
  row: CollectionRow;
  time: Pick<WriteTime, 'openMaxMs'>;
}

/** Previews by shard index. */
export type Previews = Map<number, ChangePreview>;

/**
 * Previews a merge in every shard. Throws INVALID_ARGUMENT for a record that would be refused, and
 * the shards' errors.
 */
export async function previewMatching(
  { caller, row, time: { openMaxMs } }: Previewed,
  merge: MatchingMerge,
  countsChanges: boolean,
): Promise<Previews> {
  const read = { op: 'preview', ...merge, countsChanges } as const;
  const asked = shardSpecs(row).map((shard) => readShard(caller, shard, read, { openMaxMs }));
  return throwIfRefused(new Map((await Promise.all(asked)).entries()));
}

/** Previews the updates in the shards of their records. Throws the errors of `previewMatching`. */
export async function previewUpdates(
  { caller, row, time: { openMaxMs } }: Previewed,
  updates: RecordUpdate[],
  terms: PreviewOptions,
): Promise<Previews> {
  const parts = [...Map.groupBy(updates, ({ id }) => shardIndexOf(id, row.shards))];
  const asked = parts.map(async ([index, part]) => {
    const params = { shard: shardSpec(row, index), updates: part, terms, openMaxMs };
    return [index, await call(caller, 'shards.previewUpdates', params)] as const;
  });
  return throwIfRefused(new Map(await Promise.all(asked)));
}

/**
 * Throws INVALID_ARGUMENT if a shard would refuse its part of an update because metadata became too
 * long. Checks only updates that span several shards: the other shards could commit their parts
 * before one refuses. Asks for a preview only if the lengths of the metadata leave a doubt.
 */
export async function refuseTooLong(
  previewed: Previewed,
  updates: RecordUpdate[],
  metadataMaxBytes: number,
): Promise<void> {
  const { caller, row, time } = previewed;
  const { openMaxMs } = time;
  const parts = [...Map.groupBy(updates, ({ id }) => shardIndexOf(id, row.shards))];
  if (parts.length === 1) return;
  const asked = parts.map(async ([index, part]) => {
    const growing = part.filter(({ set }) => set !== null);
    if (growing.length === 0) return [];
    const params = { shard: shardSpec(row, index), ids: growing.map(({ id }) => id), openMaxMs };
    const bytes = await call(caller, 'shards.metadataBytes', params);
    return growing.filter(({ set }, at) => itemAt(bytes, at) + Buffer.byteLength(set ?? '') > metadataMaxBytes);
  });
  const doubtful = (await Promise.all(asked)).flat();
  if (doubtful.length === 0) return;
  await previewUpdates(previewed, withoutValues(doubtful), { metadataMaxBytes, countsChanges: false });
}

/** Drops the vectors, which have no influence on the length of metadata. */
export const withoutValues = (updates: RecordUpdate[]): RecordUpdate[] =>
  updates.map((update) => ({ ...update, values: null }));

function throwIfRefused(previews: Previews): Previews {
  for (const { refused } of previews.values()) {
    if (refused) throw invalidValue(refused.path, refused.expected, refused.got);
  }
  return previews;
}
