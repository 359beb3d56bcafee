import type { Seals } from '../lib/secret/seals.ts';
import { StoreError } from './port.ts';

const INSTALLATION_PAYLOAD = ['installation'] as const;

/**
 * Returns the seal, 64 hex digits, that is stored with a store's format. It lets a process with
 * another secret fail at once, instead of finding that every row looks forged.
 */
export const installationSeal = (seals: Seals): string => seals.sealHex(INSTALLATION_PAYLOAD);

export const isInstallationSeal = (seals: Seals, seal: unknown): boolean => seals.verifyHex(INSTALLATION_PAYLOAD, seal);

/**
 * Throws StoreError 'damaged' unless `format` is `known`, the only format that this version reads.
 * `store` names what has the format in the message, such as "data directory".
 */
export function assertFormat(format: number, known: number, store: string): void {
  if (format > known) {
    throw new StoreError(
      'damaged',
      `The ${store} has format ${format}, and this version of Provec knows formats up to ${known}: start it with the newer version that wrote it.`,
    );
  }
  if (format < known) {
    const empty = store.split(' ').at(-1);
    throw new StoreError(
      'damaged',
      `The ${store} has format ${format}, of an earlier version of Provec, and this one reads format ${known} only: start with an empty ${empty}, and write the records again from their source.`,
    );
  }
}
