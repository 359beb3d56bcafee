/**
 * Takes fields out of records by their names. Must find what `lib/filter/field.ts` finds: a literal
 * top-level key first, else a dotted path through nested objects.
 *
 * Names are taken apart once, not once per record. Of few names each is looked up in the record; of
 * many, the record's keys are looked up among the names, so that what a record does not have costs
 * nothing.
 */
import { LIMITS } from '../../../../lib/limits.ts';

/**
 * What takes the values of one field: returns about how many nanoseconds that took; `undefined`
 * says that there is none.
 */
export interface FieldTarget {
  set(slot: number, value: unknown): number;
}

const FEW_NAMES = 8;
/** Estimate of what looking up one name or key takes. */
const LOOK_UP_NS = 50;

interface Field {
  name: string;
  target: FieldTarget;
  /**
   * The dotted path after its first part; null where the name is no path that metadata can have.
   */
  rest: string[] | null;
  first: string;
}

export class FieldTable {
  readonly #fields: Field[] = [];
  readonly #byName = new Map<string, Field>();
  readonly #byFirst = new Map<string, Field[]>();

  constructor(targets: Iterable<[string, FieldTarget]>) {
    for (const [name, target] of targets) {
      const parts = name.split('.', LIMITS.metadataMaxLevels + 1);
      const isPath = parts.length > 1 && parts.length <= LIMITS.metadataMaxLevels;
      const field = { name, target, first: parts[0], rest: isPath ? parts.slice(1) : null };
      this.#fields.push(field);
      this.#byName.set(name, field);
      if (!isPath) continue;
      const sharing = this.#byFirst.get(field.first);
      if (sharing === undefined) this.#byFirst.set(field.first, [field]);
      else sharing.push(field);
    }
  }

  /**
   * Gives every target whose field the record has its value; returns about how many nanoseconds
   * that took.
   */
  set(slot: number, metadata: Record<string, unknown>): number {
    return this.#fields.length <= FEW_NAMES ? this.#setByName(slot, metadata) : this.#setByKey(slot, metadata);
  }

  #setByName(slot: number, metadata: Record<string, unknown>): number {
    let tookNs = this.#fields.length * LOOK_UP_NS;
    for (const { name, target, first, rest } of this.#fields) {
      if (Object.hasOwn(metadata, name)) tookNs += target.set(slot, metadata[name]);
      else if (rest !== null && Object.hasOwn(metadata, first))
        tookNs += target.set(slot, follow(metadata[first], rest));
    }
    return tookNs;
  }

  #setByKey(slot: number, metadata: Record<string, unknown>): number {
    const keys = Object.keys(metadata);
    let tookNs = keys.length * LOOK_UP_NS;
    for (const key of keys) {
      const literal = this.#byName.get(key);
      if (literal !== undefined) tookNs += literal.target.set(slot, metadata[key]);
      for (const { name, target, rest } of this.#byFirst.get(key) ?? NONE) {
        tookNs += rest!.length * LOOK_UP_NS;
        if (!Object.hasOwn(metadata, name)) tookNs += target.set(slot, follow(metadata[key], rest!));
      }
    }
    return tookNs;
  }
}

const NONE: readonly Field[] = [];

function follow(from: unknown, path: readonly string[]): unknown {
  let value = from;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, part)) {
      return undefined;
    }
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}
