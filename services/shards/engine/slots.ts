/**
 * The records of a shard, without one object per record. A slot holds a float32 vector, its sum of
 * squares, the seq of the commit that wrote it, and the address of its id and metadata. Slots are
 * stored in chunks of up to about 1 MiB of vectors, so growing copies nothing and memory is freed
 * chunk by chunk.
 *
 * A slot is *free*, *taken* (written, not visible yet) or *live*. Searches find only live slots. A
 * slot freed while it is read (`pin`, `hold`) is *left*: nothing finds it, and it keeps its
 * content until its last reader is done.
 */
import assert from 'node:assert/strict';
import { Bitmap, clearBit, hasBit } from './bitmap.ts';
import { sumOfSquares } from './kernel/similarity-kernel.ts';
import { NO_ADDRESS } from './record-arena.ts';
import { type SlotChunk, SlotView } from './slot-view.ts';

const FIRST_CHUNK_MIN_SLOTS = 16;
/** Number of free slots that is too small to move records for. */
const SLACK_SLOTS = 64;

export class Slots extends SlotView {
  override readonly live = new Bitmap();
  #free: number[] = [];
  override end = 0;
  override liveCount = 0;
  #compacting = false;
  /** Number of readers by pinned slot. */
  readonly #pins = new Map<number, number>();
  /** For each hold, the slots that are not released yet. */
  readonly #holds = new Set<Uint32Array>();
  readonly #left = new Set<number>();

  override get bytes(): number {
    let bytes = this.arena.bytes + this.live.bytes + this.#free.length * 8;
    for (const held of this.#holds) bytes += held.byteLength;
    for (const chunk of this.chunks) bytes += chunk.vectors.byteLength + chunk.squares.length * 20;
    return bytes;
  }

  /**
   * Takes a slot for a record without making it live. Throws RangeError, taking none, when memory
   * or addresses run out.
   */
  allocate(id: Uint8Array, vector: Float32Array, metadata: Uint8Array, seq: number): number {
    const slot = this.#free.pop() ?? this.#extend();
    const chunk = this.chunkOf(slot);
    const row = slot & this.mask;
    assert(!this.live.has(slot), 'a slot is taken that is live');
    assert(chunk.addresses[row] === NO_ADDRESS, 'a slot is taken that has content');
    try {
      chunk.addresses[row] = this.arena.add(slot, id, metadata);
    } catch (error) {
      this.#free.push(slot);
      throw error;
    }
    chunk.vectors.set(vector, row * this.dimensions);
    chunk.squares[row] = sumOfSquares(vector);
    chunk.seqs[row] = seq;
    return slot;
  }

  makeLive(slot: number): void {
    assert(slot < this.end, 'a slot becomes live that was not taken');
    assert(!this.live.has(slot), 'a slot becomes live twice');
    this.live.add(slot);
    this.liveCount++;
  }

  free(slot: number): void {
    assert(slot < this.end, 'a slot is freed that was not taken');
    assert(!this.#left.has(slot), 'a slot is freed twice');
    if (this.live.has(slot)) {
      this.live.delete(slot);
      this.liveCount--;
    }
    if (this.#isRead(slot)) this.#left.add(slot);
    else this.#reclaim(slot);
  }

  /**
   * Pins live slots: their content stays readable until `unpin`, whatever happens to their records.
   */
  pin(slots: Uint32Array): void {
    for (const slot of slots) this.#pins.set(slot, (this.#pins.get(slot) ?? 0) + 1);
  }

  unpin(slots: Uint32Array): void {
    for (const slot of slots) {
      const others = (this.#pins.get(slot) ?? 1) - 1;
      if (others > 0) this.#pins.set(slot, others);
      else {
        this.#pins.delete(slot);
        this.#reclaimIfUnread(slot);
      }
    }
  }

  /**
   * Holds the slots of a bitmap, by default the live ones, and returns a copy of it. A slot keeps
   * its content until released. Costs the bitmap, plus any of these slots that are freed in the
   * meantime.
   */
  hold(words: Uint32Array = this.live.words): Uint32Array<ArrayBuffer> {
    const held = words.slice() as Uint32Array<ArrayBuffer>;
    this.#holds.add(held);
    return held;
  }

  /** Releases one slot of a hold. */
  releaseSlot(held: Uint32Array, slot: number): void {
    clearBit(held, slot);
    this.#reclaimIfUnread(slot);
  }

  /** Ends a hold and releases its remaining slots. */
  endHold(held: Uint32Array): void {
    if (this.#holds.delete(held)) for (const slot of [...this.#left]) this.#reclaimIfUnread(slot);
  }

  setSeq(slot: number, seq: number): void {
    this.chunkOf(slot).seqs[slot & this.mask] = seq;
  }

  /**
   * Becomes true once more than a quarter of the slots, and at least a chunk of them, is free; with
   * a single chunk, once more than half is free. Becomes false when no slot is free. Always false
   * while slots are being read, because they must not move.
   */
  get compactionDue(): boolean {
    if (this.#pins.size + this.#holds.size > 0) return false;
    const free = this.#free.length;
    if (this.end === this.liveCount) this.#compacting = false;
    else if (
      this.chunks.length > 1 ? free > this.mask && free * 4 > this.end : free > SLACK_SLOTS && free * 2 > this.end
    ) {
      this.#compacting = true;
    }
    return this.#compacting;
  }

  /**
   * Moves up to `most` records from the highest slots to free ones, and frees chunks. Calls `moved`
   * after each move. There must be no slot that is taken but not live.
   */
  compactSlice(most: number, moved: (from: number, to: number) => void): void {
    assert(this.#pins.size + this.#holds.size === 0, 'records move while they are read');
    assert(this.liveCount + this.#free.length === this.end, 'records move while a slot is taken');
    for (let steps = 0; steps < most && this.end > this.liveCount; steps++) {
      const from = this.end - 1;
      if (this.live.has(from)) {
        const to = this.#lowerFree(from);
        this.#move(from, to);
        moved(from, to);
      }
      this.end--;
    }
    this.#free = this.#free.filter((slot) => slot < this.end);
    const chunks = (this.end + this.mask) >>> this.shift;
    if (chunks < this.chunks.length) this.chunks.length = chunks;
    if (this.chunks.length === 1) this.#shrinkOnlyChunk();
    this.live.trim(this.end);
  }

  /**
   * Compacts ids and metadata. Returns false when that would gain nothing. There must be no slot
   * that is taken but not live.
   */
  compactArenaSlice(): boolean {
    return this.arena.compactSlice(
      (slot) => (this.live.has(slot) || this.#left.has(slot) ? this.address(slot) : NO_ADDRESS),
      (slot, address) => {
        this.chunkOf(slot).addresses[slot & this.mask] = address;
      },
    );
  }

  #isRead(slot: number): boolean {
    if (this.#pins.has(slot)) return true;
    for (const held of this.#holds) if (hasBit(held, slot)) return true;
    return false;
  }

  /** Frees the slot if its last reader is gone. */
  #reclaimIfUnread(slot: number): void {
    if (this.#left.has(slot) && !this.#isRead(slot)) {
      this.#left.delete(slot);
      this.#reclaim(slot);
    }
  }

  #reclaim(slot: number): void {
    const address = this.address(slot);
    assert(address !== NO_ADDRESS, 'a slot is freed twice');
    this.arena.release(address);
    this.chunkOf(slot).addresses[slot & this.mask] = NO_ADDRESS;
    this.#free.push(slot);
  }

  #lowerFree(than: number): number {
    for (;;) {
      const slot = this.#free.pop();
      if (slot === undefined) throw new Error('A shard has no free slot although it has fewer records than slots.');
      if (slot < than) return slot;
    }
  }

  #move(from: number, to: number): void {
    const target = this.chunkOf(to);
    const address = this.address(from);
    const toRow = to & this.mask;
    assert(!this.live.has(to), 'a record moves to a live slot');
    assert(target.addresses[toRow] === NO_ADDRESS, 'a record moves to a slot that has content');
    target.vectors.set(this.vector(from), toRow * this.dimensions);
    target.squares[toRow] = this.square(from);
    target.seqs[toRow] = this.seq(from);
    target.addresses[toRow] = address;
    this.arena.setSlot(address, to);
    this.chunkOf(from).addresses[from & this.mask] = NO_ADDRESS;
    this.live.delete(from);
    this.live.add(to);
  }

  #extend(): number {
    const slot = this.end;
    const index = slot >>> this.shift;
    const row = slot & this.mask;
    const chunk = this.chunks[index];
    if (chunk === undefined) {
      const slots = index === 0 ? Math.min(FIRST_CHUNK_MIN_SLOTS, this.mask + 1) : this.mask + 1;
      this.chunks.push(newChunk(slots, this.dimensions));
    } else if (row === chunk.squares.length) {
      this.chunks[index] = this.#resized(chunk, Math.min(row * 2, this.mask + 1));
    }
    this.end++;
    return slot;
  }

  #shrinkOnlyChunk(): void {
    const slots = Math.max(FIRST_CHUNK_MIN_SLOTS, 2 ** Math.ceil(Math.log2(this.end * 2)));
    const chunk = this.chunkOf(0);
    if (slots < chunk.squares.length) this.chunks[0] = this.#resized(chunk, slots);
  }

  #resized(chunk: SlotChunk, slots: number): SlotChunk {
    const resized = newChunk(slots, this.dimensions);
    const kept = Math.min(slots, chunk.squares.length);
    resized.vectors.set(chunk.vectors.subarray(0, kept * this.dimensions));
    resized.squares.set(chunk.squares.subarray(0, kept));
    resized.seqs.set(chunk.seqs.subarray(0, kept));
    resized.addresses.set(chunk.addresses.subarray(0, kept));
    return resized;
  }
}

function newChunk(slots: number, dimensions: number): SlotChunk {
  return {
    vectors: new Float32Array(slots * dimensions),
    squares: new Float64Array(slots),
    seqs: new Float64Array(slots),
    addresses: new Uint32Array(slots).fill(NO_ADDRESS),
  };
}
