const WHOLE = new Intl.NumberFormat();
const SHORT = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const SCORE = new Intl.NumberFormat(undefined, { minimumFractionDigits: 4, maximumFractionDigits: 4 });
const PERCENT = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
const MS = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });
const BYTE_UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;
const BYTES = BYTE_UNITS.map(
  (unit, at) =>
    new Intl.NumberFormat(undefined, {
      style: 'unit',
      unit,
      unitDisplay: at === 0 ? 'long' : 'short',
      maximumSignificantDigits: 3,
    }),
);

function bytesText(bytes: number): string {
  const power = bytes < 1_000 ? 0 : Math.min(BYTES.length - 1, Math.floor(Math.log10(bytes) / 3));
  return BYTES[power]!.format(bytes / 1_000 ** power);
}

/** Numbers as the reader's locale writes them. */
export const numberText = {
  whole: (value: number): string => WHOLE.format(value),
  short: (value: number): string => SHORT.format(value),
  score: (value: number): string => SCORE.format(value),
  percent: (share: number): string => PERCENT.format(share),
  ms: (value: number): string => `${MS.format(value)} ms`,
  bytes: bytesText,
  /** A number with its noun. */
  count: (value: number, one: string, many = `${one}s`): string => `${WHOLE.format(value)} ${value === 1 ? one : many}`,
};
