import type { Store } from '../../store/port.ts';
import type { StoredRecord } from '../../store/records.ts';
import { recordsOf } from '../contract/store-rows.ts';

/**
 * Tampers with the store: changes one materialised record, or removes it (null), without a log
 * entry. Leaf and seq stay the same.
 */
export async function tamperWithRecord(
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
