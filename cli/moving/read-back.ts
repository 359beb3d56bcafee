import { APIConnectionError } from '../../client/http/errors.ts';
import type { Collection } from '../../client/index.ts';
import { keyHashOf, leafHashOf, metaHashOf, vecHashOf } from '../../client/verify/content-hash.ts';
import { LeafTable } from '../../client/verify/leaf-table.ts';
import { objectInLine } from '../input/json-line.ts';
import { Progress } from '../output/progress.ts';
import type { Session } from '../session.ts';

/** Attempts to read the collection, since a broken export cannot continue. */
const ATTEMPTS = 3;
/** Ids that are named for each kind of difference. */
const EXAMPLES = 3;

interface ExportHead {
  version: number;
  merkleRoot: string;
  vectorCount: number;
  collectionId: string;
}

interface ExportedRecord {
  id: string;
  namespace?: string;
  values: number[];
  metadata?: object;
}

/** How a collection compares with a list of leaves. */
export interface Comparison {
  /** State of the collection that was compared. */
  head: ExportHead;
  /** Records of the list that it has with the same leaf. */
  equal: number;
  /** Records of the list that it has with another leaf. */
  changed: number;
  /** Records of the list that it does not have. */
  missing: number;
  /** Records that are not in the list. */
  others: number;
  /** Ids of records that changed. */
  examples: readonly string[];
  /** Whether the records that were read give the root that the service states. */
  isRootGiven: boolean;
}

/**
 * Reads every record of a collection and compares its leaf with that of the list. Takes 80 bytes
 * for each record that is not in the list. Adds these to `leaves` if all others are equal.
 */
export async function comparedWithCollection(
  session: Session,
  collection: Collection,
  leaves: LeafTable,
): Promise<Comparison> {
  for (let attempt = 1; ; attempt++) {
    try {
      const reader = new Comparer(leaves);
      return await reader.read((await collection.export(session.request)).lines());
    } catch (error) {
      session.request.signal.throwIfAborted();
      if (attempt === ATTEMPTS || !(error instanceof APIConnectionError)) throw error;
    }
  }
}

class Comparer {
  readonly #leaves: LeafTable;
  readonly #others = new LeafTable();
  /** Records of the list that were read, by their number. */
  readonly #seen: Uint8Array;
  readonly #examples: string[] = [];
  #equal = 0;
  #changed = 0;

  constructor(leaves: LeafTable) {
    this.#leaves = leaves;
    this.#seen = new Uint8Array(leaves.size);
  }

  async read(lines: AsyncIterable<string>): Promise<Comparison> {
    const progress = new Progress('reading back');
    let head: ExportHead | null = null;
    let end: { count: number } | null = null;
    let records = 0;
    try {
      for await (const line of lines) {
        const entry = lineIn(line);
        if (head === null) head = entry.export ?? null;
        else if (entry.end !== undefined) end = entry.end;
        else {
          this.#take(entry as ExportedRecord);
          progress.update(++records, records / Math.max(1, head.vectorCount));
        }
      }
    } finally {
      progress.end();
    }
    if (head === null || end?.count !== records) throw new APIConnectionError('The export was cut off.');
    return this.#comparison(head);
  }

  #take({ id, namespace = '', values, metadata = {} }: ExportedRecord): void {
    const key = keyHashOf(id, namespace);
    const leaf = leafHashOf(key, vecHashOf(values), metaHashOf(metadata));
    const number = this.#leaves.numberOf(key);
    const isRepeated = number < 0 ? !this.#others.add(key, leaf) : this.#seen[number] === 1;
    if (isRepeated) throw new APIConnectionError(`The export has the record ${JSON.stringify(id)} twice.`);
    if (number < 0) return;
    this.#seen[number] = 1;
    if (Buffer.compare(this.#leaves.leafAt(number), leaf) === 0) this.#equal++;
    else if (++this.#changed <= EXAMPLES) this.#examples.push(id);
  }

  #comparison(head: ExportHead): Comparison {
    const missing = this.#leaves.size - this.#equal - this.#changed;
    const others = this.#others.size;
    const found = { head, equal: this.#equal, changed: this.#changed, missing, others, examples: this.#examples };
    if (this.#changed > 0 || missing > 0) return { ...found, isRootGiven: false };
    this.#leaves.addAll(this.#others);
    return { ...found, isRootGiven: this.#leaves.root() === head.merkleRoot };
  }
}

function lineIn(text: string): Partial<ExportedRecord> & { export?: ExportHead; end?: { count: number } } {
  const value = objectInLine(text);
  if (value !== null) return value;
  throw new APIConnectionError('The export was cut off, or holds a line that is not JSON.');
}
