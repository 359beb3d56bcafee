const TIME =
  /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/**
 * Milliseconds since the epoch of an ISO 8601 time with its offset from UTC; null for anything
 * else, such as the 30th of February.
 */
export function parseTime(text: string): number | null {
  const match = TIME.exec(text);
  if (match === null) return null;
  const [year, month, day] = match.slice(1, 4).map(Number) as [number, number, number];
  // Date.parse takes 2026-02-30 for the 2nd of March.
  const date = new Date(Date.UTC(year, month - 1, day));
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const epochMs = Date.parse(text.replace(',', '.'));
  return Number.isNaN(epochMs) ? null : epochMs;
}
