import { type Cut, isUnsound } from '../../../lib/shard/head.ts';

/**
 * Why a cut that the log gave cannot be anchored, as a sentence for the operator; null where the
 * service wrote all of its heads.
 */
export function unsoundness(cut: Cut): string | null {
  const shard = cut.findIndex(isUnsound);
  return shard < 0
    ? null
    : `The end of the log of shard ${shard} was not written by this service, or under another secret.`;
}
