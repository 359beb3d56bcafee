/** Base58, in which the ledger writes signatures and addresses. */
const BASE58 = '[1-9A-HJ-NP-Za-km-z]';
const SIGNATURE = `${BASE58}{86,88}`;
const ADDRESS = `${BASE58}{43,44}`;

const TIME = /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Shapes of strings that differ between runs; everything else is the same in each run. */
const VARYING = [
  // A verification id.
  '[0-9a-f]{16}-[0-9a-f-]{36}',
  '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}',
  // A month, and a day.
  '20\\d\\d-(0[1-9]|1[0-2])',
  '20\\d\\d-(0[1-9]|1[0-2])-\\d\\d',
  // An API key's secret, and its prefix.
  'pv_live_[\\w-]{43}',
  'pv_live_[\\w-]{4}',
  // A token of an audit link.
  'pv_audit_[\\w-]{43}',
  SIGNATURE,
  ADDRESS,
  // A cursor that contains a time and an id.
  'YWZ0ZXIgMj[\\w-]{70,90}',
].map((shape) => new RegExp(`^${shape}$`));
const SHAPES = [TIME, ...VARYING];

/** Maps varying strings in recorded responses to the strings of this run. */
export class RecordedResponses {
  readonly #standsFor = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #same: readonly string[];

  /** `same`: strings with a varying shape that are nevertheless the same in every run. */
  constructor(same: readonly string[] = []) {
    this.#same = same;
  }

  /**
   * Returns the differences between a recorded and an actual response, one per line. A varying
   * string may differ from the recorded one if its shape is the same; equal recorded strings must
   * stay equal, and different ones different.
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

  /** Converts a recorded request to the one that this run must send. */
  inThisRun<T>(request: T): T {
    const values = (_: string, value: unknown) => this.#standsFor.get(value as string) ?? value;
    return request === undefined ? request : JSON.parse(JSON.stringify(request), values);
  }

  #isLike(written: string, actual: string): boolean {
    const known = this.#standsFor.get(written);
    if (known !== undefined) return known === actual;
    if (this.#same.includes(written) || !SHAPES.some((shape) => shape.test(written) && shape.test(actual)))
      return written === actual;
    // Different recorded strings may only become equal if they are times.
    if (this.#taken.has(actual) && !TIME.test(actual)) return false;
    this.#standsFor.set(written, actual);
    this.#taken.add(actual);
    return true;
  }
}

const isContainer = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
