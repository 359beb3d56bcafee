import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { StepMeter, Steps } from '../steps.ts';
import type { Selection } from './filter/selection.ts';
import { IdOrder, type ListRange } from './id-order.ts';
import type { ParsedScope } from './port.ts';
import { Search, type SearchOptions } from './search.ts';
import type { SlotView } from './slot-view.ts';

/** Estimated cost of adding a record to a view, in nanoseconds. */
const ADD_NS = 200;

/** The slots of the first matching records of a range, in order. */
interface Listed extends Pick<Selection, 'fields'> {
  slots: Uint32Array;
}

/** Slots and what searches, selects and orders them. */
export class ShardView {
  readonly slots: SlotView;
  readonly search: Search;
  /** Increases whenever a read that has begun must begin again. */
  version = 0;
  readonly #idOrder: IdOrder;

  constructor(spec: ShardSpec, slots: SlotView, options: SearchOptions) {
    this.slots = slots;
    this.search = new Search(spec, slots, options);
    this.#idOrder = new IdOrder(slots);
  }

  /** Bytes of memory held besides the slots; the index's part is an estimate. */
  get bytes(): number {
    return this.search.bytes + this.#idOrder.bytes;
  }

  /** Adds all live slots to a new view. */
  *addLive(meter: StepMeter): Steps<void> {
    for (let slot = 0; slot < this.slots.end; slot++) {
      if (!this.slots.live.has(slot)) continue;
      this.changed(-1, slot);
      meter.spentNs += ADD_NS;
      if (meter.due()) yield 'sending';
    }
  }

  /**
   * Follows a record from `oldSlot`, -1 for a new record, to `newSlot`, -1 for a deleted one. Both
   * slots must still be readable.
   */
  changed(oldSlot: number, newSlot: number): void {
    this.search.changed(oldSlot, newSlot);
    this.#idOrder.changed(oldSlot, newSlot);
  }

  moved(from: number, to: number): void {
    this.search.moved(from, to);
    this.#idOrder.changed(from, to);
  }

  *list(listing: ListRange & ParsedScope, meter: StepMeter): Steps<Listed> {
    const { namespace, filter, fields, ...range } = listing;
    // Build first: a build allows changes, but after the selection the slots must not change.
    yield* this.#idOrder.build(meter);
    const scope = { namespace, filter, fields };
    const { selector } = this.search;
    const selection = selector.isAll(scope) ? null : yield* selector.select(scope, meter);
    const slots = yield* this.#idOrder.slotsIn(range, selection?.words ?? null, meter);
    return { slots, fields: selection?.fields };
  }
}
