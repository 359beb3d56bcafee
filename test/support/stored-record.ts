import type { Store } from '../../lib/store/port.ts';
import type { StoredRecord } from '../../lib/store/records.ts';
import { recordsOf } from '../contract/store-rows.ts';

/**
 * Changes or (null) removes one materialised record without the log knowing, leaf and seq left as
 * they are: what tampering with the store amounts to.
 */
export async function changedBytes(
  store: Store,
  shard: string,
  id: string,
  change: (record: StoredRecord) => null | undefined,
): Promise<void> {
  const [record] = await recordsOf(store.records, shard, [id]);
  if (!record) throw new Error(`no stored record ${id}`);
  const { seq } = record;
  const gone = change(record) === null;
  const mark = await store.records.appliedSeq(shard);
  await store.records.apply(shard, mark, mark + 1, [{ id, record: gone ? null : { ...record, seq } }]);
}
