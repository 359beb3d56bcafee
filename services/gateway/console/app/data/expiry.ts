const DAY_MS = 86_400_000;

/** Returns the time in so many days, as the API wants it; null for the empty text: never. */
export const expiryIn = (days: string): string | null =>
  days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString();
