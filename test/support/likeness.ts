/** Base58, as the ledger writes signatures and addresses. */
const BASE58 = '[1-9A-HJ-NP-Za-km-z]';
const SIGNATURE = `${BASE58}{86,88}`;
const ADDRESS = `${BASE58}{43,44}`;

const TIME = /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** What differs from run to run, by its shape; everything else is the same in each. */
const VARYING = [
  // Of a verification.
  '[0-9a-f]{16}-[0-9a-f-]{36}',
  '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}',
  // A month.
  '20\\d\\d-(0[1-9]|1[0-2])',
  // A secret, and how it begins.
  'pv_live_[\\w-]{43}',
  'pv_live_[\\w-]{4}',
  SIGNATURE,
  ADDRESS,
  // A cursor with a time and an id in it.
  'YWZ0ZXIgMj[\\w-]{70,90}',
].map((shape) => new RegExp(`^${shape}$`));
const SHAPES = [TIME, ...VARYING];

/** What stands in this run for what varies in answers that were written down in another. */
export class Likeness {
  readonly #standsFor = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #same: readonly string[];

  /** `same`: texts of such a shape that are the same in every run. */
  constructor(same: readonly string[] = []) {
    this.#same = same;
  }

  /**
   * Where `actual` is another answer than `written`: a line each. A text that varies may be another
   * of the same shape, but the same one where the same one was written, and another where another
   * was.
   */
  differences(written: unknown, actual: unknown, path = ''): string[] {
    if (typeof written === 'string' && typeof actual === 'string') {
      return this.#isLike(written, actual) ? [] : [`${path}: ${actual} instead of ${written}`];
    }
    if (!isContainer(written) || !isContainer(actual) || Array.isArray(written) !== Array.isArray(actual))
      return Object.is(written, actual)
        ? []
        : [`${path}: ${JSON.stringify(actual)} instead of ${JSON.stringify(written)}`];
    const names = new Set([...Object.keys(written), ...Object.keys(actual)]);
    return [...names].flatMap((name) => this.differences(written[name], actual[name], `${path}/${name}`));
  }

  /** A request that was written down, as this run has to send it. */
  inThisRun<T>(request: T): T {
    const values = (_: string, value: unknown) => this.#standsFor.get(value as string) ?? value;
    return request === undefined ? request : JSON.parse(JSON.stringify(request), values);
  }

  #isLike(written: string, actual: string): boolean {
    const known = this.#standsFor.get(written);
    if (known !== undefined) return known === actual;
    if (this.#same.includes(written) || !SHAPES.some((shape) => shape.test(written) && shape.test(actual)))
      return written === actual;
    // Only times may fall together.
    if (this.#taken.has(actual) && !TIME.test(actual)) return false;
    this.#standsFor.set(written, actual);
    this.#taken.add(actual);
    return true;
  }
}

const isContainer = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
