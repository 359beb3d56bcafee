import { hash } from 'node:crypto';
import { uint32At } from '../../../lib/checked-access.ts';

const EMPTY = 0xffffffff;
const CELL_WORDS = 3;
const FIRST_CELLS = 64;
const LOAD_MAX = 0.7;

/**
 * Maps the bytes of a vector in the index to its node: a hash table with linear probing. A cell
 * holds the node and 64 bits of the SHA-256 of the vector's bytes. Two vectors share a node by
 * mistake about once in 2^32 nodes.
 */
export class NodeTable {
  #cells = newCells(FIRST_CELLS);
  #size = 0;

  get bytes(): number {
    return this.#cells.byteLength;
  }

  /** Returns the node with these bytes, or -1. */
  find(bytes: Uint8Array): number {
    const [low, high] = digestOf(bytes);
    const node = uint32At(this.#cells, this.#cellOf(low, high) + 2);
    return node === EMPTY ? -1 : node;
  }

  /** Returns the node with these bytes. If there is none, adds `node` and returns it. */
  findOrAdd(bytes: Uint8Array, node: number): number {
    if ((this.#size + 1) * CELL_WORDS > this.#cells.length * LOAD_MAX) this.#grow();
    const [low, high] = digestOf(bytes);
    const at = this.#cellOf(low, high);
    const known = uint32At(this.#cells, at + 2);
    if (known !== EMPTY) return known;
    this.#cells.set([low, high, node], at);
    this.#size++;
    return node;
  }

  /** Returns the position of the cell with this digest, or of the empty cell to store it in. */
  #cellOf(low: number, high: number): number {
    const cells = this.#cells;
    let at = firstCell(cells, low);
    while (cells[at + 2] !== EMPTY && (cells[at] !== low || cells[at + 1] !== high)) at = nextCell(cells, at);
    return at;
  }

  #grow(): void {
    const cells = this.#cells;
    const larger = newCells((cells.length / CELL_WORDS) * 2);
    for (let at = 0; at < cells.length; at += CELL_WORDS) {
      if (cells[at + 2] === EMPTY) continue;
      let to = firstCell(larger, uint32At(cells, at));
      while (larger[to + 2] !== EMPTY) to = nextCell(larger, to);
      larger.set(cells.subarray(at, at + CELL_WORDS), to);
    }
    this.#cells = larger;
  }
}

function digestOf(bytes: Uint8Array): [low: number, high: number] {
  const digest = hash('sha256', bytes, 'buffer');
  return [digest.readUInt32LE(0), digest.readUInt32LE(4)];
}

function newCells(count: number): Uint32Array<ArrayBuffer> {
  return new Uint32Array(count * CELL_WORDS).fill(EMPTY);
}

function firstCell(cells: Uint32Array, low: number): number {
  return (low % (cells.length / CELL_WORDS)) * CELL_WORDS;
}

function nextCell(cells: Uint32Array, at: number): number {
  return at + CELL_WORDS === cells.length ? 0 : at + CELL_WORDS;
}
