/**
 * Computes what a merge would change in the committed records. A record is merged only if changes
 * are counted or its metadata could become too long; for other records its length is enough.
 */
import { plainId } from '../../../lib/records/namespace.ts';
import type { ChangePreview, MetadataMerge, PreviewOptions, RecordUpdate } from '../../../lib/shard/change.ts';
import type { StepMeter, Steps } from '../steps.ts';
import { nextBit } from './bitmap.ts';
import { readingNs } from './filter/metadata-object.ts';
import type { Selection } from './filter/selection.ts';
import { growthMaxBytes, mergeRecord } from './record-merge.ts';
import type { SlotView } from './slot-view.ts';
import type { Slots } from './slots.ts';

/** Estimated costs of checking a record's length, and of a merge besides reading the metadata. */
const CHECK_NS = 100;
const MERGE_NS = 2_000;

export interface UpdatedSlot {
  slot: number;
  update: RecordUpdate;
}

/** Previews a merge of all records of a selection. The shard must not change between its steps. */
export function* previewMerge(
  slots: SlotView,
  { words, count }: Selection,
  { namespace, set, unset, ...terms }: MetadataMerge & PreviewOptions & { namespace?: string | null | undefined },
  meter: StepMeter,
): Steps<ChangePreview> {
  const growth = growthMaxBytes({ set, unset });
  if (growth === 0 && !terms.countsChanges) return { matched: count, changed: count, refused: null };
  let changed = 0;
  for (let slot = -1, left = count; left > 0; left--) {
    slot = nextBit(words, slot + 1);
    const preview = previewRecord(slots, slot, { values: null, set, unset }, growth, terms, meter);
    if (preview.refused) {
      const path = `the record ${JSON.stringify(plainId(namespace ?? '', slots.id(slot)))}`;
      return { matched: count, changed, refused: { path, ...preview.refused } };
    }
    if (preview.changes) changed++;
    if (meter.due()) yield 'reading';
  }
  return { matched: count, changed, refused: null };
}

/**
 * Previews updates by id. It sees the records as they are at its first step, no matter what is
 * committed before its last.
 */
export function* previewUpdateList(
  slots: Slots,
  updated: UpdatedSlot[],
  terms: PreviewOptions,
  meter: StepMeter,
): Steps<ChangePreview> {
  const pinned = Uint32Array.from(updated, ({ slot }) => slot);
  slots.pin(pinned);
  try {
    let changed = 0;
    for (const { slot, update } of updated) {
      const preview = previewRecord(slots, slot, update, growthMaxBytes(update), terms, meter);
      if (preview.refused)
        return { matched: updated.length, changed, refused: { path: update.path, ...preview.refused } };
      if (preview.changes) changed++;
      if (meter.due()) yield 'sending';
    }
    return { matched: updated.length, changed, refused: null };
  } finally {
    slots.unpin(pinned);
  }
}

function previewRecord(
  slots: SlotView,
  slot: number,
  update: Pick<RecordUpdate, 'values' | 'set' | 'unset'>,
  growth: number,
  { metadataMaxBytes, countsChanges }: PreviewOptions,
  meter: StepMeter,
): { changes: boolean; refused: ReturnType<typeof mergeRecord>['refused'] } {
  meter.spentNs += CHECK_NS;
  const metadata = slots.metadata(slot);
  if (!countsChanges && metadata.length + growth <= metadataMaxBytes) return { changes: true, refused: null };
  meter.spentNs += MERGE_NS + 2 * readingNs(metadata);
  const { isSame, refused } = mergeRecord({ vector: slots.vector(slot), metadata }, update, metadataMaxBytes);
  return { changes: !isSame, refused };
}
