const NOWHERE = 0xffffffff;
const FIRST_MIN = 64;

/**
 * The slots of each node of a graph. A node has several if the index cannot tell their vectors
 * apart. They form a doubly linked list, newest first, so that adding and removing take constant
 * time. A graph without copies has no links.
 */
export class NodeSlots {
  /** First slot, by node. */
  #first = new Uint32Array(0);
  /** Links by slot; empty until a node has two slots. */
  #next = new Uint32Array(0);
  #previous = new Uint32Array(0);

  get bytes(): number {
    return this.#first.byteLength + this.#next.byteLength + this.#previous.byteLength;
  }

  /** Returns the node's newest slot, or -1 if it has none. */
  first(node: number): number {
    return orNone(this.#first[node]);
  }

  /** Returns the slot after `slot` in its node's list, or -1 at the end. */
  next(slot: number): number {
    return orNone(this.#next[slot]);
  }

  /** Adds a slot to a node. Returns whether it is the node's only one. */
  add(node: number, slot: number): boolean {
    this.#first = withRoom(this.#first, node);
    const first = this.#first[node] ?? NOWHERE;
    this.#first[node] = slot;
    if (first === NOWHERE) return true;
    this.#link(slot, first);
    return false;
  }

  /** Removes a slot from a node. Returns whether the node has no slot left. */
  remove(node: number, slot: number): boolean {
    const next = this.#next[slot] ?? NOWHERE;
    const previous = this.#previous[slot] ?? NOWHERE;
    if (previous === NOWHERE) this.#first[node] = next;
    else this.#next[previous] = next;
    if (next !== NOWHERE) this.#previous[next] = previous;
    this.#unlink(slot);
    return this.#first[node] === NOWHERE;
  }

  /** Replaces slot `from` by `to`. */
  move(node: number, from: number, to: number): void {
    const next = this.#next[from] ?? NOWHERE;
    const previous = this.#previous[from] ?? NOWHERE;
    this.#unlink(from);
    if (next !== NOWHERE) this.#link(to, next);
    if (previous !== NOWHERE) this.#link(previous, to);
    else this.#first[node] = to;
  }

  #link(slot: number, next: number): void {
    this.#next = withRoom(this.#next, Math.max(slot, next));
    this.#previous = withRoom(this.#previous, Math.max(slot, next));
    this.#next[slot] = next;
    this.#previous[next] = slot;
  }

  #unlink(slot: number): void {
    if (slot >= this.#next.length) return;
    this.#next[slot] = NOWHERE;
    this.#previous[slot] = NOWHERE;
  }
}

function orNone(value: number | undefined): number {
  return value === undefined || value === NOWHERE ? -1 : value;
}

function withRoom(table: Uint32Array<ArrayBuffer>, at: number): Uint32Array<ArrayBuffer> {
  if (at < table.length) return table;
  const larger = new Uint32Array(Math.max(at + 1, FIRST_MIN, Math.ceil(table.length * 1.5))).fill(NOWHERE);
  larger.set(table);
  return larger;
}
