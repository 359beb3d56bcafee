const WHOLE = new Intl.NumberFormat();
const SHORT = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const SCORE = new Intl.NumberFormat(undefined, { minimumFractionDigits: 4, maximumFractionDigits: 4 });
const PERCENT = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
const MS = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });

/** Numbers as the reader's locale writes them. */
export const numberText = {
  whole: (value: number): string => WHOLE.format(value),
  short: (value: number): string => SHORT.format(value),
  score: (value: number): string => SCORE.format(value),
  percent: (share: number): string => PERCENT.format(share),
  ms: (value: number): string => `${MS.format(value)} ms`,
  /** A number with its noun. */
  count: (value: number, one: string, many = `${one}s`): string => `${WHOLE.format(value)} ${value === 1 ? one : many}`,
};
