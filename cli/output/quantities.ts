/** Sizes and times for people. Absent ones are empty. */

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Returns a size such as `1.5 KiB`. */
export function bytesText(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return '';
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`;
}

/** Returns a time such as `3 min 20 s`. */
export function timeText(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '';
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 172_800) return `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} min`;
  return `${Math.floor(whole / 86_400)} d ${Math.floor((whole % 86_400) / 3_600)} h`;
}
