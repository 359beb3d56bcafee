import { InputError } from '../../client/cli/json-file.ts';
import type { Issue } from './issues.ts';

/** The vector of a source's records that is moved. Other vectors are counted as issues. */
export class NamedVector {
  /** Empty if the source has only one vector, without a name. */
  readonly name: string;
  /** What the source says about this vector. */
  readonly settings: Readonly<Record<string, unknown>>;

  constructor(name: string, settings: Readonly<Record<string, unknown>>) {
    this.name = name;
    this.settings = settings;
  }

  /**
   * Chooses the vector. `vectors` are the settings of each by name, or those of the only one, which
   * then has a member `own`. Throws an InputError if the choice is ambiguous.
   */
  static chosen(
    vectors: Record<string, unknown>,
    own: string,
    wanted: string | undefined,
    source: string,
  ): NamedVector {
    const settingsOf = (name: string) => vectors[name] as Record<string, unknown>;
    if (own in vectors && typeof vectors[own] !== 'object') return new NamedVector('', vectors);
    const names = Object.keys(vectors);
    const name = wanted ?? (names.length === 1 ? names[0] : undefined);
    if (name !== undefined && names.includes(name)) return new NamedVector(name, settingsOf(name));
    if (wanted !== undefined) throw new InputError(`${source} has no vector ${wanted}, only ${names.join(', ')}.`);
    if (names.length === 0) throw new InputError(`${source} has no dense vectors.`);
    throw new InputError(`${source} has several vectors: ${names.join(', ')}. --vector-field names the one to move.`);
  }

  /** Returns the vector of a record, and adds what else the record has to `issues`. */
  valuesIn(given: unknown, issues: Issue[]): number[] | null {
    if (given === null || given === undefined) return null;
    if (Array.isArray(given)) return this.#dense(given, issues);
    const { [this.name]: own, ...others } = given as Record<string, unknown>;
    const isSparse = (value: unknown): boolean => typeof value === 'object' && value !== null && 'indices' in value;
    const rest = Object.values(others);
    if (rest.some(isSparse)) issues.push('sparse-vector');
    if (rest.some((value) => !isSparse(value))) issues.push('other-vector');
    return Array.isArray(own) ? this.#dense(own, issues) : null;
  }

  /** A list of vectors instead of one vector: none of them is the one to move. */
  #dense(values: unknown[], issues: Issue[]): number[] | null {
    if (!Array.isArray(values[0])) return values as number[];
    issues.push('other-vector');
    return null;
  }
}
