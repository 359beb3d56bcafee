/**
 * Tracks which slots hold records of which namespace, as a doubly linked list of slots per
 * namespace. Work on a namespace is therefore proportional to its size. The default namespace
 * consists of the slots in no list.
 *
 * Takes no memory until a record of another namespace is written, then 12 bytes per slot.
 */
import { itemAt, uint32At } from '../../../../lib/checked-access.ts';
import type { ValueCount } from '../../../../lib/filter/value-counts.ts';
import { parseStoredId } from '../../../../lib/records/namespace.ts';
import { compareUtf8 } from '../../../../lib/records/utf8-order.ts';
import type { NamespaceRange } from '../../../../lib/shard/read.ts';
import type { StepMeter, Steps } from '../../steps.ts';
import { Bitmap, setBit, subtract } from '../bitmap.ts';
import type { SlotView } from '../slot-view.ts';
import { NameOrder } from './name-order.ts';

/** Neither a namespace nor a slot: codes start at 1, and slots are stored as slot + 1. */
const NONE = 0;
/** Estimated costs of marking a slot and of visiting a name. */
const MARK_NS = 4;
const NAME_NS = 150;
/** Number of excess slots that is too small to shrink for. */
const SPARE_SLOTS = 64;
const MARKS_PER_CHECK = 16 * 1024;
/** Estimated size of a name besides its characters. */
const NAME_BYTES = 120;
/** Namespace of records whose stored id cannot be parsed. No request can name it. */
const UNREADABLE = '\0';

export class Namespaces {
  readonly #slots: SlotView;
  readonly #codes = new Map<string, number>();
  readonly #order = new NameOrder();
  /** Namespace names, by code. */
  readonly #names: string[] = [''];
  readonly #first: number[] = [NONE];
  readonly #counts: number[] = [0];
  readonly #free: number[] = [];
  #nameBytes = 0;
  /** By slot: its namespace code, and its neighbours in that namespace's list. */
  #code = new Uint32Array(0);
  #next = new Uint32Array(0);
  #previous = new Uint32Array(0);
  /** Slots in a list. */
  readonly #named = new Bitmap();
  #namedCount = 0;

  constructor(slots: SlotView) {
    this.#slots = slots;
  }

  get bytes(): number {
    return 3 * this.#code.byteLength + this.#named.bytes + this.#nameBytes;
  }

  /** Number of records without a namespace, because their stored id cannot be parsed. */
  get unaddressable(): number {
    return this.count(UNREADABLE);
  }

  /** Number of live records in a namespace, or in all of them for null. */
  count(namespace: string | null): number {
    if (namespace === null) return this.#slots.liveCount - this.unaddressable;
    if (namespace === '') return this.#slots.liveCount - this.#namedCount;
    return itemAt(this.#counts, this.#codes.get(namespace) ?? NONE);
  }

  /**
   * Returns the first `limit` non-empty namespaces that begin with `prefix` and sort after `after`
   * (null for no lower bound). The default namespace is ''.
   */
  *list({ prefix, after, limit }: NamespaceRange, meter: StepMeter): Steps<ValueCount[]> {
    const first: ValueCount[] = [];
    const ofDefault = this.count('');
    if (prefix === '' && after === null && ofDefault > 0) first.push(['', ofDefault]);
    const from = after === null || compareUtf8(prefix, after) > 0 ? prefix : after;
    for (const name of this.#order.from(from)) {
      if (first.length >= limit || !name.startsWith(prefix)) break;
      meter.spentNs += NAME_NS;
      if (meter.due()) yield 'reading';
      if (name !== after && name !== UNREADABLE) first.push([name, this.count(name)]);
    }
    return first;
  }

  /** Returns the live slots of a namespace (null for all) as a bitmap that the caller owns. */
  *slotsOf(namespace: string | null, meter: StepMeter): Steps<Uint32Array> {
    const words = (this.#slots.end + 31) >>> 5;
    if (namespace === null) {
      const live = this.#slots.live.words.slice(0, words);
      if (this.unaddressable > 0) subtract(live, yield* this.slotsOf(UNREADABLE, meter));
      return live;
    }
    if (namespace === '') {
      const live = this.#slots.live.words.slice(0, words);
      subtract(live, this.#named.words);
      return live;
    }
    const found = new Uint32Array(words);
    let at = itemAt(this.#first, this.#codes.get(namespace) ?? NONE);
    while (at !== NONE) {
      for (let left = MARKS_PER_CHECK; at !== NONE && left > 0; left--) {
        const slot = at - 1;
        setBit(found, slot);
        at = uint32At(this.#next, slot);
        meter.spentNs += MARK_NS;
      }
      if (meter.due()) yield 'reading';
    }
    return found;
  }

  /**
   * Updates the lists after a record moved from `oldSlot` (-1 for a new record) to `newSlot` (-1
   * for a deleted one).
   */
  changed(oldSlot: number, newSlot: number): void {
    if (oldSlot >= 0 && this.#namedCount > 0) this.#remove(oldSlot);
    this.#shrink();
    if (newSlot < 0 || this.#slots.idBytes(newSlot)[0] !== 0) return;
    this.#add(newSlot, parseStoredId(this.#slots.id(newSlot))?.namespace ?? UNREADABLE);
  }

  #add(slot: number, namespace: string): void {
    const code = this.#codes.get(namespace) ?? this.#newCode(namespace);
    if (slot >= this.#code.length) this.#resize(Math.max(slot + 1, SPARE_SLOTS, Math.ceil(this.#code.length * 1.25)));
    const following = itemAt(this.#first, code);
    this.#code[slot] = code;
    this.#next[slot] = following;
    this.#previous[slot] = NONE;
    if (following !== NONE) this.#previous[following - 1] = slot + 1;
    this.#first[code] = slot + 1;
    this.#counts[code] = itemAt(this.#counts, code) + 1;
    this.#named.add(slot);
    this.#namedCount++;
  }

  #remove(slot: number): void {
    const code = this.#code[slot] ?? NONE;
    if (code === NONE) return;
    const [previous, following] = [uint32At(this.#previous, slot), uint32At(this.#next, slot)];
    if (previous === NONE) this.#first[code] = following;
    else this.#next[previous - 1] = following;
    if (following !== NONE) this.#previous[following - 1] = previous;
    this.#code[slot] = NONE;
    this.#named.delete(slot);
    this.#namedCount--;
    const left = itemAt(this.#counts, code) - 1;
    this.#counts[code] = left;
    if (left === 0) this.#freeCode(itemAt(this.#names, code), code);
  }

  /** Compaction moves records to low slots and removes the high ones. */
  #shrink(): void {
    const needed = this.#namedCount === 0 ? 0 : this.#slots.end;
    if (needed * 2 + SPARE_SLOTS < this.#code.length) this.#resize(needed);
  }

  #newCode(namespace: string): number {
    const code = this.#free.pop() ?? this.#first.length;
    this.#codes.set(namespace, code);
    this.#order.add(namespace);
    this.#names[code] = namespace;
    this.#first[code] = NONE;
    this.#counts[code] = 0;
    this.#nameBytes += NAME_BYTES + namespace.length;
    return code;
  }

  #freeCode(namespace: string, code: number): void {
    this.#codes.delete(namespace);
    this.#order.delete(namespace);
    this.#free.push(code);
    this.#nameBytes -= NAME_BYTES + namespace.length;
  }

  #resize(slots: number): void {
    const resized = (array: Uint32Array): Uint32Array<ArrayBuffer> => {
      const other = new Uint32Array(slots);
      other.set(array.subarray(0, slots));
      return other;
    };
    this.#code = resized(this.#code);
    this.#next = resized(this.#next);
    this.#previous = resized(this.#previous);
    this.#named.trim(slots);
  }
}
