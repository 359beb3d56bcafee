/** Reads a page of metrics in the text format of Prometheus. */

interface Sample {
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** Cumulative counts of a histogram by the upper bounds of its buckets, the last one infinite. */
export type Buckets = ReadonlyMap<number, number>;

const SAMPLE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export class MetricsPage {
  readonly #samples = new Map<string, Sample[]>();

  constructor(text: string) {
    for (const line of text.split('\n')) {
      const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
      if (name === undefined) continue;
      const sample = {
        labels: Object.fromEntries(Array.from(labels.matchAll(LABEL), labelIn)),
        value: numberIn(value),
      };
      const others = this.#samples.get(name);
      if (others === undefined) this.#samples.set(name, [sample]);
      else others.push(sample);
    }
  }

  /** Returns the sum of a metric's samples; null if there are none. */
  sum(name: string, isMeant: (labels: Sample['labels']) => boolean = () => true): number | null {
    const samples = (this.#samples.get(name) ?? []).filter(({ labels }) => isMeant(labels));
    return samples.length === 0 ? null : samples.reduce((sum, { value }) => sum + value, 0);
  }

  /** Returns the sum of a histogram's series. */
  buckets(name: string, isMeant: (labels: Sample['labels']) => boolean): Buckets {
    const buckets = new Map<number, number>();
    for (const { labels, value } of this.#samples.get(`${name}_bucket`) ?? []) {
      const bound = numberIn(labels.le);
      if (isMeant(labels)) buckets.set(bound, (buckets.get(bound) ?? 0) + value);
    }
    return buckets;
  }
}

const labelIn = ([, name, value]: RegExpMatchArray): [string, string] => [
  `${name}`,
  `${value}`.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char)),
];

const numberIn = (text: string | undefined): number => (text === '+Inf' ? Number.POSITIVE_INFINITY : Number(text));

/**
 * Returns the value below which the part `quantile` of what was counted between two pages lies, by
 * linear interpolation in its bucket; null if nothing was counted.
 */
export function quantileBetween(before: Buckets, after: Buckets, quantile: number): number | null {
  const counts = [...after].map(([bound, count]) => [bound, count - (before.get(bound) ?? 0)] as const);
  counts.sort(([a], [b]) => a - b);
  const total = counts.at(-1)?.[1] ?? 0;
  if (total <= 0) return null;
  const rank = quantile * total;
  let lower = 0;
  let below = 0;
  for (const [bound, count] of counts) {
    if (count >= rank) {
      if (bound === Number.POSITIVE_INFINITY) return lower;
      return lower + ((bound - lower) * (rank - below)) / Math.max(count - below, 1);
    }
    lower = bound;
    below = count;
  }
  return lower;
}
