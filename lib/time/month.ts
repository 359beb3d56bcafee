/** Returns the UTC month of an instant as `YYYY-MM`. */
export function monthOf(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 7);
}

/** Returns the first instant of the month after `month` (`YYYY-MM`), as ISO 8601 UTC. */
export function monthEnd(month: string): string {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return new Date(Date.UTC(year, number, 1)).toISOString();
}
