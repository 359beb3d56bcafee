/**
 * The committed states that snapshots hold, and what later commits changed since. Holding a state
 * costs nothing until the next commit. That commit keeps a bitmap of the slots live before it, and
 * what it changed; slots that it frees stay readable. A state gives all of this back when its last
 * holder releases it.
 */
import type { ShardHead } from '../../../lib/shard/head.ts';
import { Bitmap } from './bitmap.ts';
import type { ShardView } from './shard-view.ts';
import { FrozenSlots } from './slot-view.ts';
import type { Slots } from './slots.ts';
import type { Change } from './staging.ts';

/** Estimated size of a kept change. */
const CHANGE_BYTES = 400;

/** A committed state. */
export interface HeldState {
  head: ShardHead;
  holders: number;
  /** Its live slots, once a commit has followed; null before. */
  frozen: FrozenSlots | null;
  /** What searches the frozen slots; null until a read needs it. */
  view: ShardView | null;
  /** What changed after it, by id, and the state after that: the next one that was held. */
  next: { changes: Map<string, Change>; state: HeldState } | null;
}

export class History {
  readonly #slots: Slots;
  /** The oldest held state, and the newest state; null while none is held. */
  #oldest: HeldState | null = null;
  #newest: HeldState | null = null;
  /** The state that leads to the newest. */
  #beforeNewest: HeldState | null = null;
  /** Number of changes kept. */
  #changes = 0;

  constructor(slots: Slots) {
    this.#slots = slots;
  }

  /** Bytes of memory held besides the slots. */
  get bytes(): number {
    let bytes = this.#changes * CHANGE_BYTES;
    for (let state = this.#oldest; state?.next; state = state.next.state) bytes += state.view?.bytes ?? 0;
    return bytes;
  }

  /** Holds the newest state. `head` is the head of the committed state. */
  hold(head: ShardHead): HeldState {
    this.#newest ??= newState(head);
    this.#oldest ??= this.#newest;
    this.#newest.holders++;
    return this.#newest;
  }

  release(state: HeldState): void {
    if (--state.holders > 0) return;
    state.view = null;
    if (state.frozen !== null) this.#slots.endHold(state.frozen.live.words);
    while (this.#oldest?.holders === 0) {
      this.#changes -= this.#oldest.next?.changes.size ?? 0;
      if (this.#oldest === this.#beforeNewest) this.#beforeNewest = null;
      this.#oldest = this.#oldest.next?.state ?? null;
    }
    if (this.#oldest !== null) return;
    this.#newest = null;
    this.#beforeNewest = null;
  }

  /** Keeps the newest state for its holders. Call it before a commit shows its changes. */
  advance(changes: ReadonlyMap<string, Change>, head: ShardHead): void {
    const state = this.#newest;
    if (state === null) return;
    if (state.holders === 0 && this.#beforeNewest?.next) {
      // The state between two commits is not held, so their net changes are enough.
      const kept = this.#beforeNewest.next.changes;
      this.#changes -= kept.size;
      for (const [id, change] of changes) merge(kept, id, change);
      this.#changes += kept.size;
      state.head = head;
      return;
    }
    const { liveCount, end } = this.#slots;
    state.frozen = new FrozenSlots(this.#slots, new Bitmap(this.#slots.hold()), liveCount, end);
    this.#newest = newState(head);
    this.#beforeNewest = state;
    state.next = { changes: new Map(changes), state: this.#newest };
    this.#changes += changes.size;
  }
}

/** Yields what changed after a state, oldest first. */
export function* changesSince(state: HeldState): Iterable<ReadonlyMap<string, Change>> {
  for (let { next } = state; next !== null; { next } = next.state) yield next.changes;
}

/** Adds a later change of a record to those that are kept. */
function merge(kept: Map<string, Change>, id: string, { newSlot, newLeaf, ...change }: Change): void {
  kept.set(id, { ...(kept.get(id) ?? change), newSlot, newLeaf });
}

function newState(head: ShardHead): HeldState {
  return { head, holders: 0, frozen: null, view: null, next: null };
}
