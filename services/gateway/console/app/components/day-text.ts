const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

/** Returns a UTC date such as `2026-11-26` as the reader's locale writes it, in any time zone. */
export function dayText(day: string): string {
  const date = new Date(day);
  return Number.isNaN(date.getTime()) ? day : DAY.format(date);
}
