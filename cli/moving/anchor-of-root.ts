import { setTimeout as delay } from 'node:timers/promises';
import type { Collection } from '../../client/index.ts';
import type { Session } from '../session.ts';

const FIRST_WAIT_MS = 50;
const WAIT_MAX_MS = 2_000;
/** Longest wait, in ms, for the anchor. */
const ANCHOR_MS = 60_000;

/** Where a root is on the ledger. */
export interface RootAnchor {
  ledgerAddress: string | null;
  /** Null if the root has not been anchored yet, or is not going to be. */
  ledgerTx: string | null;
  /** Null with a transaction; else why there is none. */
  reason: 'not anchored' | 'pending' | 'halted' | 'superseded' | null;
}

/** Waits up to a minute until the root is anchored. */
export async function anchorOfRoot(
  { request }: Session,
  collection: Collection,
  merkleRoot: string,
  version: number,
): Promise<RootAnchor> {
  const end = performance.now() + ANCHOR_MS;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, WAIT_MAX_MS)) {
    const { anchor } = await collection.describe(request);
    const { ledgerAddress } = anchor;
    if (ledgerAddress === null || anchor.status === 'none')
      return { ledgerAddress, ledgerTx: null, reason: 'not anchored' };
    const ledgerTx = anchor.merkleRoot === merkleRoot ? anchor.ledgerTx : null;
    if (ledgerTx !== null) return { ledgerAddress, ledgerTx, reason: null };
    if (anchor.status === 'halted') return { ledgerAddress, ledgerTx: null, reason: 'halted' };
    if (anchor.version !== null && anchor.version >= version) {
      const older = await listed(collection, merkleRoot, request);
      return { ledgerAddress, ledgerTx: older, reason: older === null ? 'superseded' : null };
    }
    if (performance.now() > end) return { ledgerAddress, ledgerTx: null, reason: 'pending' };
    await delay(waitMs, undefined, request);
  }
}

/** Looks among the newest anchors: others may write to the collection at the same time. */
async function listed(collection: Collection, merkleRoot: string, request: Session['request']): Promise<string | null> {
  const { anchors } = await collection.listAnchors({}, request).page();
  return anchors.find((anchor) => anchor.merkleRoot === merkleRoot)?.ledgerTx ?? null;
}
