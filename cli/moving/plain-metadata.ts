import type { Issue } from '../sources/issues.ts';

const MAX_BYTES = 40 * 1024;
const MAX_LEVELS = 32;

/** Metadata and other fields of a source's record, made into metadata that Provec accepts. */
export class PlainMetadata {
  readonly content: object;
  readonly issues = new Set<Issue>();
  hasObjectsInLists = false;

  constructor(metadata: Readonly<Record<string, unknown>>, fields: Readonly<Record<string, unknown>>) {
    const own = this.#members(metadata, 1);
    const added = this.#members(fields, 1).filter(([name]) => {
      if (!Object.hasOwn(metadata, name)) return true;
      this.issues.add('taken-field');
      return false;
    });
    this.content = this.#fitting(own, added);
  }

  /** Leaves out texts, the longest first, until the metadata is small enough. */
  #fitting(own: readonly [string, unknown][], added: readonly [string, unknown][]): object {
    const kept = [...added].sort(([, one], [, other]) => textLength(one) - textLength(other));
    for (;;) {
      // Unlike an assignment, this also keeps a member with the name __proto__.
      const content = Object.fromEntries([...own, ...kept]);
      if (Buffer.byteLength(JSON.stringify(content)) <= MAX_BYTES) return content;
      const longest = kept.pop();
      this.issues.add(longest === undefined || textLength(longest[1]) === 0 ? 'large-metadata' : 'long-text');
      if (longest === undefined) return content;
    }
  }

  #members(object: Readonly<Record<string, unknown>>, level: number): [string, unknown][] {
    return Object.entries(object).flatMap(([name, given]): [string, unknown][] => {
      if (given === undefined) return [];
      if (!name.isWellFormed()) this.issues.add('unsupported-value');
      const value = name.isWellFormed() ? this.#plain(given, level) : undefined;
      return value === undefined ? [] : [[name, value]];
    });
  }

  /** Returns the value as JSON has it; undefined if JSON has no such value. */
  #plain(value: unknown, level: number): unknown {
    if (value === null || typeof value === 'boolean') return value;
    if (typeof value === 'string' && value.isWellFormed()) return value;
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    if (typeof value === 'bigint') return this.#integer(value);
    if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
    if (Array.isArray(value)) return this.#list(value, level);
    if (isPlainObject(value)) return this.#object(value, level);
    this.issues.add('unsupported-value');
    return undefined;
  }

  #integer(value: bigint): number {
    const number = Number(value);
    if (BigInt(number) !== value) this.issues.add('rounded-integer');
    return number;
  }

  #list(items: readonly unknown[], level: number): unknown {
    if (items.some(isPlainObject)) this.hasObjectsInLists = true;
    if (level >= MAX_LEVELS) return this.#tooDeep();
    return items.map((item) => this.#plain(item, level + 1)).filter((item) => item !== undefined);
  }

  #object(value: Record<string, unknown>, level: number): unknown {
    if (level >= MAX_LEVELS) return this.#tooDeep();
    return Object.fromEntries(this.#members(value, level + 1));
  }

  #tooDeep(): null {
    this.issues.add('large-metadata');
    return null;
  }
}

const textLength = (value: unknown): number => (typeof value === 'string' ? value.length : 0);

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
