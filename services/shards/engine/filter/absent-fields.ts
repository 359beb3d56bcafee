/**
 * Finds the fields of a request that no record in its scope has, using what its filter was
 * evaluated with: columns, or the few records of a small scope. A field without a column is not
 * reported, because nothing is known about it.
 */
import { fieldReader } from '../../../../lib/filter/field.ts';
import { nearest } from '../../../../lib/nearest.ts';
import type { AbsentField, FieldReport } from '../../../../lib/shard/field-report.ts';
import type { StepMeter, Steps } from '../../steps.ts';
import { countBits, intersects, nextBit } from '../bitmap.ts';
import type { SlotView } from '../slot-view.ts';
import type { FieldColumn } from './column.ts';
import { metadataObject, readingNs } from './metadata-object.ts';

/** Maximum records, and bytes of metadata, sampled for suggestions. */
const SAMPLE_MAX_RECORDS = 64;
const SAMPLE_MAX_BYTES = 64 * 1024;
/**
 * Maximum number of names that a suggestion is chosen from, and maximum length and depth of a name.
 */
const NAMES_MAX = 128;
const NAME_MAX_CHARS = 64;
const PATH_MAX_LEVELS = 8;
const SUGGESTIONS_MAX = 8;
/** Estimated costs of inspecting 32 slots, reading a field, and comparing two characters. */
const WORD_NS = 1;
const FIELD_NS = 60;
const CHAR_PAIR_NS = 5;

/** What a filter was evaluated with. */
interface Scope {
  /** Live slots, as a bitmap. */
  candidates: Uint32Array;
  /** Null if the records themselves were read. */
  columns: ReadonlyMap<string, FieldColumn> | null;
}

export class AbsentFields {
  readonly #slots: SlotView;
  readonly #scope: Scope;
  readonly #meter: StepMeter;

  constructor(slots: SlotView, scope: Scope, meter: StepMeter) {
    this.#slots = slots;
    this.#scope = scope;
    this.#meter = meter;
  }

  *of(fields: readonly string[]): Steps<FieldReport> {
    const { candidates, columns } = this.#scope;
    const records = countBits(candidates);
    const isWhole = records === this.#slots.liveCount;
    if (records === 0) return { records, isWhole, absent: [] };
    const names = columns === null ? yield* this.#notInRecords(fields, records) : yield* this.#notIn(columns, fields);
    return { records, isWhole, absent: names.length === 0 ? [] : yield* this.#withSuggestions(names, records) };
  }

  *#notIn(columns: ReadonlyMap<string, FieldColumn>, fields: readonly string[]): Steps<string[]> {
    const absent: string[] = [];
    for (const field of fields) {
      const column = columns.get(field);
      if (column !== undefined && !intersects(this.#scope.candidates, column.present.words)) absent.push(field);
      this.#meter.spentNs += this.#scope.candidates.length * WORD_NS;
      if (this.#meter.due()) yield 'reading';
    }
    return absent;
  }

  *#notInRecords(fields: readonly string[], records: number): Steps<string[]> {
    const readers = new Map(fields.map((field) => [field, fieldReader(field)]));
    for (let slot = -1, left = records; left > 0 && readers.size > 0; left--) {
      slot = nextBit(this.#scope.candidates, slot + 1);
      const metadata = this.#read(slot);
      for (const [field, read] of readers) if (read(metadata) !== undefined) readers.delete(field);
      this.#meter.spentNs += readers.size * FIELD_NS;
      if (this.#meter.due()) yield 'reading';
    }
    return [...readers.keys()];
  }

  *#withSuggestions(fields: readonly string[], records: number): Steps<AbsentField[]> {
    const names = yield* this.#names(records);
    const chars = names.reduce((sum, { length }) => sum + length, 0);
    const absent: AbsentField[] = [];
    for (const field of fields) {
      const isTried = absent.length < SUGGESTIONS_MAX && field.length <= NAME_MAX_CHARS;
      absent.push({ field, meant: isTried ? nearest(field, names) : null });
      if (isTried) this.#meter.spentNs += chars * field.length * CHAR_PAIR_NS;
      if (this.#meter.due()) yield 'reading';
    }
    return absent;
  }

  /** Returns the field names of the first records, in the form that filters use. */
  *#names(records: number): Steps<string[]> {
    const names = new Set<string>();
    let bytes = 0;
    for (let slot = -1, left = Math.min(records, SAMPLE_MAX_RECORDS); left > 0 && bytes < SAMPLE_MAX_BYTES; left--) {
      slot = nextBit(this.#scope.candidates, slot + 1);
      bytes += this.#slots.metadata(slot).length;
      for (const name of pathsOf(this.#read(slot))) {
        if (names.size === NAMES_MAX) return [...names];
        names.add(name);
      }
      if (this.#meter.due()) yield 'reading';
    }
    return [...names];
  }

  #read(slot: number): Record<string, unknown> {
    const bytes = this.#slots.metadata(slot);
    this.#meter.spentNs += readingNs(bytes);
    return metadataObject(bytes);
  }
}

/**
 * Yields the names that a filter can use: metadata keys, and dotted names of keys in nested
 * objects.
 */
function* pathsOf(metadata: Record<string, unknown>, prefix = '', levels = PATH_MAX_LEVELS): Iterable<string> {
  for (const [name, value] of Object.entries(metadata)) {
    const path = prefix + name;
    if (path.length > NAME_MAX_CHARS || path.startsWith('$')) continue;
    yield path;
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && levels > 1)
      yield* pathsOf(value as Record<string, unknown>, `${path}.`, levels - 1);
  }
}
