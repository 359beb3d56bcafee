import type { Seals } from '../secret/seals.ts';

const SAID = ['installation'] as const;

/**
 * Stands with a store's format and tells whoever opens it under another secret, before all of it
 * looks forged: 64 hex digits.
 */
export const sealOfInstallation = (seals: Seals): string => seals.hex(SAID);

export const isOfInstallation = (seals: Seals, seal: unknown): boolean => seals.fitsHex(SAID, seal);
