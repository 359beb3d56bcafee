/** What merges would do to the records of a collection as they are, shard by shard. */
import { type Caller, call } from '../../lib/actions/call.ts';
import { invalid } from '../../lib/records/fields.ts';
import type { ChangePreview, PreviewTerms, RecordUpdate } from '../../lib/shard/change.ts';
import { shardSpec, shardSpecs } from '../../lib/shard/spec.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';
import type { MatchingMerge } from './change-rounds.ts';
import { readShard } from './shard-reader.ts';
import { shardIndexOf } from './shard-routing.ts';

interface Previewed {
  caller: Caller;
  row: CollectionRow;
}

/** By the shard's index. */
type Previews = Map<number, ChangePreview>;

/** Of every shard. Throws INVALID_ARGUMENT for a record that is refused, and what shards throw. */
export async function previewMatching(
  { caller, row }: Previewed,
  merge: MatchingMerge,
  countsChanges: boolean,
): Promise<Previews> {
  const read = { op: 'preview', ...merge, countsChanges } as const;
  const asked = shardSpecs(row).map((shard) => readShard(caller, shard, read, {}));
  return permitted(new Map((await Promise.all(asked)).entries()));
}

/** Of the shards that `updates` are about. Throws as `previewMatching` does. */
export async function previewUpdates(
  { caller, row }: Previewed,
  updates: RecordUpdate[],
  terms: PreviewTerms,
): Promise<Previews> {
  const parts = [...Map.groupBy(updates, ({ id }) => shardIndexOf(id, row.shards))];
  const asked = parts.map(async ([index, part]) => {
    const params = { shard: shardSpec(row, index), updates: part, terms };
    return [index, await call(caller, 'shards.previewUpdates', params)] as const;
  });
  return permitted(new Map(await Promise.all(asked)));
}

function permitted(previews: Previews): Previews {
  for (const { refused } of previews.values()) {
    if (refused) throw invalid(refused.path, refused.expected, refused.got);
  }
  return previews;
}
