/**
 * Rows from a column: a list is read once however many conditions there are, a distinct string is
 * compared once. The column must not change meanwhile.
 *
 * Nearly all fields have few conditions, and rows of one word of which few differ: they have code
 * of their own, several times as fast.
 */
import type { StepMeter, Steps } from '../steps.ts';
import type { Column } from './column.ts';
import { type Conditions, classOfNumber, classOfString } from './conditions.ts';
import { type FieldRows, matchRows, type RowTest } from './field-rows.ts';
import { ABSENT, LIST, NUMBER, STRING } from './value-kind.ts';

/**
 * Estimates of what it takes to look a value up, to read an element of a list, and to compare a
 * character.
 */
const VALUE_NS = 60;
const ELEMENT_NS = 1;
const CHARS_PER_NS = 1;

/** Rows that a byte can tell apart, one value being for those not worked out yet. */
const ENTRIES_MAX = 255;
const UNKNOWN = 255;

/** What is known of a field before its records are looked at. */
interface Prepared {
  conditions: Conditions;
  column: Column;
  /** The codes that are named and their rows. */
  named: { code: number; row: number }[];
  meter: StepMeter;
}

/** Makes the rows of a field that has a column. */
export function* columnRows(conditions: Conditions, column: Column, meter: StepMeter): Steps<FieldRows> {
  const { numbersByValue, rows, stringCuts, valueRows, width } = conditions;
  const prepared: Prepared = { conditions, column, named: [], meter };
  const distinct = new Set([0]);
  for (const [value, row] of valueRows) {
    const code = column.dictionary.codeOf(value);
    if (code !== undefined) {
      prepared.named.push({ code, row });
      if (distinct.size <= ENTRIES_MAX) distinct.add(rows[row * width]);
    }
    meter.spentNs += VALUE_NS;
    if (meter.due()) yield 'reading';
  }
  const isNarrow = width === 1 && !numbersByValue && distinct.size * (2 * stringCuts.length + 1) <= ENTRIES_MAX;
  return isNarrow ? new NarrowRows(prepared) : new WideRows(prepared);
}

/** Rows of one word, of which there are few that differ. */
class NarrowRows implements FieldRows {
  readonly width = 1;
  readonly parses = false;
  readonly #prepared: Prepared;
  readonly #chunks: readonly Uint32Array[];
  readonly #ofKind: Int32Array;
  readonly #ofNumberClass: Int32Array;
  readonly #numberCuts: Float64Array;
  readonly #entries = new Int32Array(ENTRIES_MAX);
  readonly #entryOf = new Map<number, number>([[0, 0]]);
  /**
   * By code the entry of the value as an element of a list; null while no value of the column is
   * named.
   */
  readonly #ofElement: Uint8Array | null = null;
  /** The same of a string by itself, which is compared as well. */
  readonly #ofString: Uint8Array | null = null;
  /** The bits that elements of lists can set. */
  #ofElements = 0;
  /** What the lists of the word last looked at meet, as far as they are done. */
  readonly #lists = new Int32Array(32);
  #word = -1;
  #done = 0;

  constructor(prepared: Prepared) {
    const { named, column, conditions } = prepared;
    const { kindRows, numberClassRow, numberCuts, rows, stringCuts } = conditions;
    this.#prepared = prepared;
    this.#chunks = column.runs.chunks;
    this.#ofKind = Int32Array.from(kindRows, (row) => rows[row]);
    this.#numberCuts = Float64Array.from(numberCuts);
    this.#ofNumberClass = Int32Array.from(rows.subarray(numberClassRow, numberClassRow + 2 * numberCuts.length + 1));
    if (named.length > 0) this.#ofElement = this.#ofString = new Uint8Array(column.dictionary.size);
    for (const { code, row } of named) {
      this.#ofElement![code] = this.#entry(rows[row]);
      this.#ofElements |= rows[row];
    }
    if (stringCuts.length > 0) this.#ofString = new Uint8Array(column.dictionary.size).fill(UNKNOWN);
  }

  match(word: number, mask: number, { all, cares, wants }: RowTest): number {
    let done = word === this.#word ? this.#done : 0;
    this.#word = word;
    const { kinds, numbers, codes } = this.#prepared.column;
    const chunks = this.#chunks;
    const lists = this.#lists;
    const entries = this.#entries;
    const ofElement = this.#ofElement;
    const ofElements = this.#ofElements;
    const ofString = this.#ofString;
    const ofKind = this.#ofKind;
    const ofNumberClass = this.#ofNumberClass;
    const numberCuts = this.#numberCuts;
    const care = cares[0] | 0;
    const want = wants[0] | 0;
    let matching = 0;
    let elements = 0;
    for (let i = 0; i < 32; i++) {
      if ((mask & (1 << i)) === 0) continue;
      const slot = (word << 5) | i;
      const kind = slot < kinds.length ? kinds[slot] : ABSENT;
      let row = ofKind[kind];
      if (kind === STRING) {
        if (ofString !== null) {
          const entry = ofString[codes[slot]];
          row |= entry === UNKNOWN ? this.#compare(codes[slot]) : entries[entry];
        }
      } else if (kind === NUMBER) {
        row |= ofNumberClass[classOfNumber(numberCuts, numbers[slot])];
      } else if (kind === LIST) {
        if ((done & (1 << i)) === 0) {
          let found = 0;
          if (ofElement !== null) {
            const address = codes[slot];
            const run = chunks[address >>> 16];
            const from = (address & 0xffff) + 1;
            const to = from + run[from - 1];
            for (let at = from; at < to; at++) {
              const entry = ofElement[run[at]];
              if (entry !== 0) {
                found |= entries[entry];
                if (found === ofElements) break;
              }
            }
            elements += to - from;
          }
          lists[i] = found;
          done |= 1 << i;
        }
        row |= lists[i];
      }
      const differ = (row ^ want) & care;
      if (all ? differ === 0 : differ !== care) matching |= 1 << i;
    }
    this.#done = done;
    this.#prepared.meter.spentNs += elements * ELEMENT_NS;
    return matching;
  }

  /** Works a string out that is met for the first time. */
  #compare(code: number): number {
    const { column, conditions, meter } = this.#prepared;
    const { rows, stringClassRow, stringCuts } = conditions;
    const text = column.dictionary.values[code] as string;
    const ofValue = this.#ofElement === null ? 0 : this.#entries[this.#ofElement[code]];
    const bits = ofValue | rows[stringClassRow + classOfString(stringCuts, text)];
    this.#ofString![code] = this.#entry(bits);
    meter.spentNs += compareNs(text, stringCuts);
    return bits;
  }

  #entry(bits: number): number {
    const known = this.#entryOf.get(bits);
    if (known !== undefined) return known;
    const entry = this.#entryOf.size;
    this.#entryOf.set(bits, entry);
    this.#entries[entry] = bits;
    return entry;
  }
}

class WideRows implements FieldRows {
  readonly width: number;
  readonly parses = false;
  readonly #prepared: Prepared;
  /** Of the slots of the word last looked at, as far as they are done. */
  readonly #rows: Uint32Array;
  /** Row by code; null while no value of the column is named. */
  readonly #rowOfCode: Uint32Array | null = null;
  /** Row of its class by code of a string, 0 where not worked out yet. */
  readonly #classRowOfCode: Uint32Array;
  #word = -1;
  #done = 0;

  constructor(prepared: Prepared) {
    const { column, conditions, named } = prepared;
    this.#prepared = prepared;
    this.width = conditions.width;
    this.#rows = new Uint32Array(32 * this.width);
    this.#classRowOfCode = new Uint32Array(conditions.stringCuts.length === 0 ? 0 : column.dictionary.size);
    if (named.length === 0) return;
    this.#rowOfCode = new Uint32Array(column.dictionary.size);
    for (const { code, row } of named) this.#rowOfCode[code] = row;
  }

  match(word: number, mask: number, test: RowTest): number {
    if (word !== this.#word) {
      this.#word = word;
      this.#done = 0;
    }
    const wanted = mask & ~this.#done;
    this.#done |= wanted;
    for (let i = 0; i < 32; i++) {
      if ((wanted & (1 << i)) === 0) continue;
      this.#rows.fill(0, i * this.width, (i + 1) * this.width);
      this.#fill(i, (word << 5) | i);
    }
    return matchRows(this.#rows, this.width, mask, test);
  }

  #fill(i: number, slot: number): void {
    const { column, conditions } = this.#prepared;
    const rowOfCode = this.#rowOfCode;
    const { kindRows, numberClassRow, numberCuts, numbersByValue, stringCuts, valueRows } = conditions;
    const kind = slot < column.kinds.length ? column.kinds[slot] : ABSENT;
    this.#join(i, kindRows[kind]);
    if (kind === STRING) {
      const code = column.codes[slot];
      if (rowOfCode !== null) this.#join(i, rowOfCode[code]);
      if (stringCuts.length > 0) this.#join(i, this.#classRowOfCode[code] || this.#compare(code));
    } else if (kind === NUMBER) {
      const value = column.numbers[slot];
      this.#join(i, numberClassRow + classOfNumber(numberCuts, value));
      if (numbersByValue) this.#join(i, valueRows.get(value) ?? 0);
    } else if (kind === LIST && rowOfCode !== null) {
      this.#joinList(i, column.codes[slot], rowOfCode);
    }
  }

  #joinList(i: number, address: number, rowOfCode: Uint32Array): void {
    const { column, meter } = this.#prepared;
    const run = column.runs.chunks[address >>> 16];
    const from = (address & 0xffff) + 1;
    const to = from + run[from - 1];
    for (let at = from; at < to; at++) {
      const row = rowOfCode[run[at]];
      if (row !== 0) this.#join(i, row);
    }
    meter.spentNs += (to - from) * ELEMENT_NS;
  }

  #compare(code: number): number {
    const { column, conditions, meter } = this.#prepared;
    const text = column.dictionary.values[code] as string;
    const row = conditions.stringClassRow + classOfString(conditions.stringCuts, text);
    this.#classRowOfCode[code] = row;
    meter.spentNs += compareNs(text, conditions.stringCuts);
    return row;
  }

  #join(i: number, row: number): void {
    const { rows } = this.#prepared.conditions;
    for (let word = 0; word < this.width; word++) this.#rows[i * this.width + word] |= rows[row * this.width + word];
  }
}

function compareNs(text: string, cuts: readonly string[]): number {
  return VALUE_NS + Math.ceil((text.length / CHARS_PER_NS) * Math.log2(cuts.length + 1));
}
