const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

const FORMATS = new Map(
  UNITS.map(([unit]) => [unit, new Intl.NumberFormat(undefined, { style: 'unit', unit, unitDisplay: 'short' })]),
);

/** Returns a duration in its two largest units, as the reader's locale writes them. */
export function durationText(seconds: number): string {
  let rest = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0 || (unit === 'second' && parts.length === 0)) parts.push(FORMATS.get(unit)!.format(count));
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}
