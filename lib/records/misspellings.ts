import { ProvecError } from '../errors.ts';
import { withinEdits } from '../nearest.ts';
import { invalidValue, printableName } from './fields.ts';

/** Maximum edits at which an unknown name counts as a misspelling of a known one. */
const EDITS_MAX = 2;
/** Maximum number of different unknown names in one request. */
const UNKNOWN_NAMES_MAX = 1_000;

/** Refuses misspelt names in a request that may have other unknown names. */
export class Misspellings {
  readonly #known: readonly string[];
  readonly #kind: 'field' | 'query parameter';
  /** Unknown names that are no misspellings: each is compared once per request. */
  readonly #harmless = new Set<string>();

  constructor(known: readonly string[], kind: 'field' | 'query parameter' = 'field') {
    this.#known = known;
    this.#kind = kind;
  }

  /**
   * Throws INVALID_ARGUMENT for a misspelling of a known name, or if the request has too many
   * different unknown names. `path` is the position of the names.
   */
  refuse(names: Iterable<string>, path = ''): void {
    for (const name of names) {
      if (this.#known.includes(name) || this.#harmless.has(name)) continue;
      const meant = withinEdits(name, this.#known, EDITS_MAX);
      if (meant !== null) throw this.#misspelt(name, meant, path);
      if (this.#harmless.size === UNKNOWN_NAMES_MAX) throw this.#tooMany(path);
      this.#harmless.add(name);
    }
  }

  #misspelt(name: string, meant: string, path: string): ProvecError {
    const where = path === '' ? printableName(name) : `${path}.${printableName(name)}`;
    const sentence = `${where} is not a ${this.#kind} of this operation; did you mean ${meant}?`;
    return new ProvecError('INVALID_ARGUMENT', sentence, {
      details: [{ path: where, expected: `one of ${this.#known.join(', ')}`, got: `an unknown ${this.#kind}` }],
    });
  }

  #tooMany(path: string): ProvecError {
    const most = UNKNOWN_NAMES_MAX.toLocaleString('en');
    const where = path === '' ? 'The request' : path;
    return invalidValue(where, `without more than ${most} unknown ${this.#kind}s`, 'with more');
  }
}
