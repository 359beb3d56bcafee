export const MIB = 2 ** 20;

/** Whole MiB of a number of bytes, 0 for a negative one. */
export const inMib = (bytes: number): number => Math.max(0, Math.floor(bytes / MIB));
