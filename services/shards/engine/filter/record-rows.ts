/**
 * Rows from the records themselves, for fields that have no column: every record that is looked at
 * is parsed, once for all such fields of the filter.
 */

import type { Scalar } from '../../../../lib/filter/ast.ts';
import type { Slots } from '../slots.ts';
import type { StepMeter } from '../steps.ts';
import { type Conditions, classOfNumber, classOfString } from './conditions.ts';
import { type FieldRows, matchRows, type RowTest } from './field-rows.ts';
import { FieldTable, type FieldTarget } from './field-table.ts';
import { metadataObject } from './metadata-object.ts';
import { kindOf, LIST, NUMBER, STRING } from './value-kind.ts';

/** Estimates of what it takes to parse a byte, to look a value up, and to compare a character. */
const BYTE_NS = 6;
const VALUE_NS = 60;
const CHARS_PER_NS = 1;

export class RecordReader {
  readonly #slots: Slots;
  readonly #meter: StepMeter;
  readonly #fields = new Map<string, RecordRows>();
  #table: FieldTable | null = null;
  #word = -1;
  #done = 0;

  constructor(slots: Slots, meter: StepMeter) {
    this.#slots = slots;
    this.#meter = meter;
  }

  /** The rows of one more field. */
  add(field: string, conditions: Conditions): FieldRows {
    const rows = new RecordRows(this, conditions);
    this.#fields.set(field, rows);
    return rows;
  }

  read(word: number, mask: number): void {
    if (word !== this.#word) {
      this.#word = word;
      this.#done = 0;
      for (const rows of this.#fields.values()) rows.clear();
    }
    const wanted = mask & ~this.#done;
    this.#done |= wanted;
    this.#table ??= new FieldTable(this.#fields);
    for (let rest = wanted; rest !== 0; rest &= rest - 1) {
      const slot = word * 32 + 31 - Math.clz32(rest & -rest);
      const bytes = this.#slots.metadata(slot);
      this.#meter.spentNs += bytes.length * BYTE_NS + this.#table.set(slot, metadataObject(bytes));
    }
  }
}

class RecordRows implements FieldRows, FieldTarget {
  readonly width: number;
  readonly parses = true;
  readonly #reader: RecordReader;
  readonly #conditions: Conditions;
  /** Of the slots of the word last read. */
  readonly #rows: Uint32Array;

  constructor(reader: RecordReader, conditions: Conditions) {
    this.#reader = reader;
    this.#conditions = conditions;
    this.width = conditions.width;
    this.#rows = new Uint32Array(32 * this.width);
  }

  clear(): void {
    this.#rows.fill(0);
  }

  match(word: number, mask: number, test: RowTest): number {
    this.#reader.read(word, mask);
    return matchRows(this.#rows, this.width, mask, test);
  }

  set(slot: number, value: unknown): number {
    const i = slot & 31;
    const { kindRows, numberClassRow, numberCuts, stringClassRow, stringCuts, valueRows } = this.#conditions;
    const kind = kindOf(value);
    this.#join(i, kindRows[kind]);
    if (kind === LIST) {
      for (const element of value as unknown[]) {
        const row = valueRows.get(element as Scalar);
        if (row !== undefined) this.#join(i, row);
      }
      return (value as unknown[]).length * VALUE_NS;
    }
    if (kind === NUMBER) {
      this.#join(i, numberClassRow + classOfNumber(numberCuts, value as number));
      this.#join(i, valueRows.get(value as number) ?? 0);
    } else if (kind === STRING) {
      const text = value as string;
      this.#join(i, stringClassRow + classOfString(stringCuts, text));
      this.#join(i, valueRows.get(text) ?? 0);
      return VALUE_NS + Math.ceil((text.length / CHARS_PER_NS) * Math.log2(stringCuts.length + 2));
    }
    return VALUE_NS;
  }

  #join(i: number, row: number): void {
    const { rows } = this.#conditions;
    for (let word = 0; word < this.width; word++) this.#rows[i * this.width + word] |= rows[row * this.width + word];
  }
}
