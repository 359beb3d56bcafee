/**
 * Stores the ids and metadata of a shard's records as bytes in large chunks, so that records add no
 * work for the garbage collector.
 *
 * A blob is u32 slot, u32 metadata bytes, u16 id bytes, id, metadata, padded to 8. An address
 * counts units of 8 bytes, so its chunk is `address / CHUNK_UNITS`. A blob never changes; the slot
 * in it lets `compactSlice` find its record. A chunk whose blobs are all released is freed at once.
 * The other chunks are compacted when more than a quarter of all bytes is released.
 */
const UNIT_BYTES = 8;
const CHUNK_BYTES = 256 * 1024;
const CHUNK_UNITS = CHUNK_BYTES / UNIT_BYTES;
const FIRST_CHUNK_MIN_BYTES = 4 * 1024;
const HEADER_BYTES = 10;
const GARBAGE_SHARE_MAX = 0.25;

export const NO_ADDRESS = 0xffffffff;

interface Chunk {
  bytes: Buffer;
  /** Offset of the next blob. */
  end: number;
  live: number;
}

export class RecordArena {
  #chunks: (Chunk | null)[] = [];
  #vacant: number[] = [];
  #current = -1;
  /** Bytes of memory held. */
  bytes = 0;
  #used = 0;
  #live = 0;

  /**
   * Stores a record's id and metadata for `slot`. Returns their address. Throws RangeError when no
   * address is left (32 GiB).
   */
  add(slot: number, id: Uint8Array, metadata: Uint8Array): number {
    const size = blobBytes(id.length, metadata.length);
    const chunk = this.#chunkFor(size);
    const at = chunk.end;
    chunk.bytes.writeUInt32LE(slot, at);
    chunk.bytes.writeUInt32LE(metadata.length, at + 4);
    chunk.bytes.writeUInt16LE(id.length, at + 8);
    chunk.bytes.set(id, at + HEADER_BYTES);
    chunk.bytes.set(metadata, at + HEADER_BYTES + id.length);
    chunk.end += size;
    chunk.live += size;
    this.#used += size;
    this.#live += size;
    return this.#current * CHUNK_UNITS + at / UNIT_BYTES;
  }

  release(address: number): void {
    const index = Math.floor(address / CHUNK_UNITS);
    const chunk = this.#chunkAt(index);
    const size = this.#sizeAt(chunk, offsetOf(address));
    chunk.live -= size;
    this.#live -= size;
    if (chunk.live === 0) {
      this.#drop(index);
    } else if (offsetOf(address) + size === chunk.end) {
      chunk.end -= size;
      this.#used -= size;
    }
  }

  id(address: number): string {
    const { bytes } = this.#chunkAt(Math.floor(address / CHUNK_UNITS));
    const at = offsetOf(address);
    const start = at + HEADER_BYTES;
    return bytes.toString('utf8', start, start + bytes.readUInt16LE(at + 8));
  }

  /** Returns the id's UTF-8 bytes as a view, valid until the next change. */
  idBytes(address: number): Buffer {
    const { bytes } = this.#chunkAt(Math.floor(address / CHUNK_UNITS));
    const at = offsetOf(address);
    const start = at + HEADER_BYTES;
    return bytes.subarray(start, start + bytes.readUInt16LE(at + 8));
  }

  /** Compares the id with `key` by bytes, like `Buffer.compare` but without creating a view. */
  compareId(address: number, key: Uint8Array): number {
    const { bytes } = this.#chunkAt(Math.floor(address / CHUNK_UNITS));
    const at = offsetOf(address);
    const length = bytes.readUInt16LE(at + 8);
    const shared = Math.min(length, key.length);
    for (let i = 0, from = at + HEADER_BYTES; i < shared; i++) {
      const order = (bytes[from + i] ?? 0) - (key[i] ?? 0);
      if (order !== 0) return order;
    }
    return length - key.length;
  }

  /** Returns the metadata's bytes as a view, valid until the next change. */
  metadata(address: number): Buffer {
    const { bytes } = this.#chunkAt(Math.floor(address / CHUNK_UNITS));
    const at = offsetOf(address);
    const start = at + HEADER_BYTES + bytes.readUInt16LE(at + 8);
    return bytes.subarray(start, start + bytes.readUInt32LE(at + 4));
  }

  /** Updates the slot in a blob after its record moved. */
  setSlot(address: number, slot: number): void {
    this.#chunkAt(Math.floor(address / CHUNK_UNITS)).bytes.writeUInt32LE(slot, offsetOf(address));
  }

  /**
   * Empties the chunk with the most released bytes, if compaction is due; otherwise returns false.
   * `addressOf` returns the blob that a slot uses now; `moved` receives its new address.
   */
  compactSlice(addressOf: (slot: number) => number, moved: (slot: number, address: number) => void): boolean {
    const garbage = this.#used - this.#live;
    if (garbage < CHUNK_BYTES || garbage <= this.#used * GARBAGE_SHARE_MAX) return false;
    let worst = -1;
    let most = 0;
    for (const [i, chunk] of this.#chunks.entries()) {
      if (chunk !== null && i !== this.#current && chunk.end - chunk.live > most) {
        most = chunk.end - chunk.live;
        worst = i;
      }
    }
    if (worst < 0) return false;
    const chunk = this.#chunkAt(worst);
    for (let at = 0; at < chunk.end; ) {
      const slot = chunk.bytes.readUInt32LE(at);
      const address = worst * CHUNK_UNITS + at / UNIT_BYTES;
      at += this.#sizeAt(chunk, at);
      if (addressOf(slot) === address) moved(slot, this.add(slot, this.idBytes(address), this.metadata(address)));
    }
    this.#live -= chunk.live;
    this.#drop(worst);
    return true;
  }

  #chunkAt(index: number): Chunk {
    const chunk = this.#chunks[index];
    if (!chunk) throw new RangeError(`No record bytes at chunk ${index}.`);
    return chunk;
  }

  #sizeAt(chunk: Chunk, at: number): number {
    return blobBytes(chunk.bytes.readUInt16LE(at + 8), chunk.bytes.readUInt32LE(at + 4));
  }

  #chunkFor(size: number): Chunk {
    if (size > CHUNK_BYTES) throw new RangeError(`A record of ${size} bytes does not fit into a chunk.`);
    const current = this.#current < 0 ? null : this.#chunkAt(this.#current);
    if (current !== null && current.end + size <= current.bytes.length) return current;
    if (current !== null && current.end + size <= CHUNK_BYTES) return this.#grow(current, size);
    const index = this.#vacant.pop() ?? this.#chunks.length;
    if ((index + 1) * CHUNK_UNITS > NO_ADDRESS) throw new RangeError('The shard holds more than 32 GiB of metadata.');
    const first = this.bytes === 0 ? Math.max(FIRST_CHUNK_MIN_BYTES, powerOfTwoAtLeast(size)) : CHUNK_BYTES;
    const chunk: Chunk = { bytes: Buffer.from(new ArrayBuffer(first)), end: 0, live: 0 };
    this.#chunks[index] = chunk;
    this.bytes += first;
    this.#current = index;
    return chunk;
  }

  #grow(chunk: Chunk, size: number): Chunk {
    const grown = Buffer.from(new ArrayBuffer(powerOfTwoAtLeast(chunk.end + size)));
    grown.set(chunk.bytes.subarray(0, chunk.end));
    this.bytes += grown.length - chunk.bytes.length;
    chunk.bytes = grown;
    return chunk;
  }

  #drop(index: number): void {
    const chunk = this.#chunkAt(index);
    this.bytes -= chunk.bytes.length;
    this.#used -= chunk.end;
    this.#chunks[index] = null;
    this.#vacant.push(index);
    if (this.#current === index) this.#current = -1;
  }
}

function offsetOf(address: number): number {
  return (address % CHUNK_UNITS) * UNIT_BYTES;
}

function blobBytes(idBytes: number, metadataBytes: number): number {
  return Math.ceil((HEADER_BYTES + idBytes + metadataBytes) / UNIT_BYTES) * UNIT_BYTES;
}

function powerOfTwoAtLeast(n: number): number {
  return 2 ** Math.ceil(Math.log2(n));
}
