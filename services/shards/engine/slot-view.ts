import { float64At, uint32At } from '../../../lib/checked-access.ts';
import type { Bitmap } from './bitmap.ts';
import { RecordArena } from './record-arena.ts';

const CHUNK_VECTOR_BYTES = 1024 * 1024;

/** The parallel arrays of one chunk. Row i of `vectors` belongs to slot i of the chunk. */
export interface SlotChunk {
  vectors: Float32Array<ArrayBuffer>;
  squares: Float64Array<ArrayBuffer>;
  seqs: Float64Array<ArrayBuffer>;
  addresses: Uint32Array<ArrayBuffer>;
}

/** Slots as reads see them: which are live in one committed state, and what every slot contains. */
export abstract class SlotView {
  readonly dimensions: number;
  /** Slot s is row `s & mask` of chunk `s >>> shift`. */
  readonly shift: number;
  readonly mask: number;
  readonly arena: RecordArena;
  readonly chunks: SlotChunk[];
  abstract readonly live: Bitmap;
  abstract readonly liveCount: number;
  /** Upper bound of the slots in use: above the highest slot that is not free. */
  abstract readonly end: number;
  /** Bytes of memory held by the slots. */
  abstract readonly bytes: number;

  constructor(dimensions: number, arena = new RecordArena(), chunks: SlotChunk[] = []) {
    this.dimensions = dimensions;
    this.shift = Math.max(4, Math.floor(Math.log2(CHUNK_VECTOR_BYTES / (dimensions * 4))));
    this.mask = (1 << this.shift) - 1;
    this.arena = arena;
    this.chunks = chunks;
  }

  id(slot: number): string {
    return this.arena.id(this.address(slot));
  }

  idBytes(slot: number): Buffer {
    return this.arena.idBytes(this.address(slot));
  }

  /** Compares the slot's id with `key` by bytes: negative if the id sorts first, 0 if equal. */
  compareId(slot: number, key: Uint8Array): number {
    return this.arena.compareId(this.address(slot), key);
  }

  /** Compares the ids of two slots by bytes. */
  compareIds(slotA: number, slotB: number): number {
    return this.arena.compareId(this.address(slotA), this.idBytes(slotB));
  }

  metadata(slot: number): Buffer {
    return this.arena.metadata(this.address(slot));
  }

  seq(slot: number): number {
    return float64At(this.chunkOf(slot).seqs, slot & this.mask);
  }

  /**
   * Returns the sum of squares of the slot's vector, added in the same order as in `sumOfSquares`.
   */
  square(slot: number): number {
    // A scan reads it for every record; with checks, a scan takes a tenth longer.
    return (this.chunks[slot >>> this.shift] as SlotChunk).squares[slot & this.mask] as number;
  }

  norm(slot: number): number {
    return Math.sqrt(this.square(slot));
  }

  /** Returns a view of the slot's vector, valid until the slot is freed. */
  vector(slot: number): Float32Array {
    const start = (slot & this.mask) * this.dimensions;
    return this.chunkOf(slot).vectors.subarray(start, start + this.dimensions);
  }

  chunkOf(slot: number): SlotChunk {
    return this.chunks[slot >>> this.shift] ?? noChunk(slot);
  }

  protected address(slot: number): number {
    return uint32At(this.chunkOf(slot).addresses, slot & this.mask);
  }
}

/** The slots that were live in an earlier state. They must be held in `slots` meanwhile. */
export class FrozenSlots extends SlotView {
  override readonly live: Bitmap;
  override readonly liveCount: number;
  override readonly end: number;
  readonly #slots: SlotView;

  constructor(slots: SlotView, live: Bitmap, liveCount: number, end: number) {
    super(slots.dimensions, slots.arena, slots.chunks);
    this.#slots = slots;
    this.live = live;
    this.liveCount = liveCount;
    this.end = end;
  }

  override get bytes(): number {
    return this.#slots.bytes;
  }
}

function noChunk(slot: number): never {
  throw new RangeError(`Slot ${slot} is beyond the last chunk.`);
}
