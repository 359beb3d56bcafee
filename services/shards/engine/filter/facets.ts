/**
 * Counts a field's values in a set of records, using the field's column or, without one, the
 * records. Each distinct element of a list counts once; objects and nested lists do not count.
 */
import { float64At } from '../../../../lib/checked-access.ts';
import type { Scalar } from '../../../../lib/filter/ast.ts';
import { fieldReader } from '../../../../lib/filter/field.ts';
import { ValueCounts } from '../../../../lib/filter/value-counts.ts';
import { ValueMap } from '../../../../lib/filter/value-map.ts';
import type { StepMeter, Steps } from '../../steps.ts';
import { countBits, intersect, subtract, wordAt } from '../bitmap.ts';
import type { SlotView } from '../slot-view.ts';
import type { FieldColumn } from './column.ts';
import { metadataObject, readingNs } from './metadata-object.ts';

/** Counts per value. `missing` is the number of records without the field. */
export interface FieldCounts {
  counts: ValueCounts;
  missing: number;
}

/** Estimated costs of counting one occurrence of a string and of inspecting 32 slots. */
const OCCURRENCE_NS = 30;
const WORD_NS = 5;

/** Counts the values using the column. `selected` is a bitmap of slots. */
export function* valuesInColumn(column: FieldColumn, selected: Uint32Array, meter: StepMeter): Steps<FieldCounts> {
  const { literals, postings, numeric, present, numbers } = column;
  const counts = new ValueCounts();
  const missing = selected.slice();
  subtract(missing, present.words);
  for (const [value, { words }] of literals) {
    const having = selected.slice();
    intersect(having, words);
    const count = countBits(having);
    if (count > 0) counts.add(value, count);
  }
  const byCode = new Uint32Array(postings.codes);
  for (let word = 0; word < selected.length; word++) {
    meter.spentNs += WORD_NS;
    for (let rest = wordAt(selected, word); rest !== 0; rest &= rest - 1) {
      const slot = lowestSlot(word, rest);
      meter.spentNs += numeric.has(slot)
        ? counts.add(float64At(numbers, slot), 1)
        : postings.countIn(slot, byCode) * OCCURRENCE_NS;
      if (meter.due()) yield 'reading';
    }
  }
  for (const [code, count] of byCode.entries()) {
    const value = count > 0 ? postings.valueOf(code) : undefined;
    if (value !== undefined) meter.spentNs += counts.add(value, count);
    if (meter.due()) yield 'reading';
  }
  return { counts, missing: countBits(missing) };
}

/** Counts the values by reading the records in the slots `selected`. */
export function* valuesInRecords(
  field: string,
  slots: SlotView,
  selected: Uint32Array,
  meter: StepMeter,
): Steps<FieldCounts> {
  const read = fieldReader(field);
  const counts = new ValueCounts();
  let missing = 0;
  for (let word = 0; word < selected.length; word++) {
    for (let rest = wordAt(selected, word); rest !== 0; rest &= rest - 1) {
      const bytes = slots.metadata(lowestSlot(word, rest));
      const value = read(metadataObject(bytes));
      if (value === undefined) missing++;
      else for (const each of scalarsIn(value)) meter.spentNs += counts.add(each, 1);
      meter.spentNs += readingNs(bytes);
      if (meter.due()) yield 'reading';
    }
  }
  return { counts, missing };
}

/** Returns the slot of the lowest bit left in a word. */
const lowestSlot = (word: number, rest: number): number => word * 32 + 31 - Math.clz32(rest & -rest);

/** Returns the distinct scalars of a list, or the value itself if it is one. */
function scalarsIn(value: unknown): readonly Scalar[] {
  if (!Array.isArray(value)) return isScalar(value) ? [value] : [];
  const seen = new ValueMap();
  return value.filter((each) => isScalar(each) && seen.getOrSet(each, 1) === undefined);
}

const isScalar = (value: unknown): value is Scalar => value === null || typeof value !== 'object';
