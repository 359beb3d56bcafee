/**
 * Seals the outbox's rows, so that only the holder of the ledger's keypair can write them.
 *
 * A row that was changed, or sealed under another keypair, reads as halted with nothing confirmed,
 * in flight or wanted. The stored row stays as it is. A row that was restored to an older state
 * passes; reconciliation with the ledger detects that. See docs/internals/anchoring.md.
 */
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { CollectionId } from '../../../lib/ids.ts';
import { type MacPayload, Seals } from '../../../lib/secret/seals.ts';
import type { Cut } from '../../../lib/shard/head.ts';
import { type AnchorRow, type AnchorStore, emptyAnchorRow } from '../../../store/anchors.ts';
import { AnchorHistory } from './anchor-history.ts';
import { logHalt } from './anchor-row.ts';

const SECRET_BYTES = 32;
const UNTRIMMED = 'could not remove old anchors from the history of a collection; trying again after later ones';
const REASON =
  "The store's record of this collection's anchors was not written by this service, or was written with another keypair.";

/** Derives the key of the seals from a keypair file, which must be valid (authority.ts). */
export function sealKeyOf(keypairFile: string): Buffer {
  const numbers = JSON.parse(readFileSync(keypairFile, 'utf8')) as number[];
  return createHmac('sha256', Uint8Array.from(numbers.slice(0, SECRET_BYTES)))
    .update('PV1 outbox')
    .digest();
}

/** Anchor store that seals and verifies its rows. */
export interface SealedAnchors extends AnchorStore {
  readonly past: AnchorHistory;
  /** Collections whose row failed verification when it was last read. */
  readonly unsound: ReadonlySet<string>;
}

/**
 * Wraps a store: verifies every row that is read and seals every row that is written. Logs rows
 * that fail verification, for the operator.
 */
export function sealed(
  anchors: AnchorStore,
  key: Uint8Array,
  wallMs: () => number,
  log: Pick<Logger, 'error'>,
): SealedAnchors {
  const unsound = new Set<string>();
  const seals = new Seals([key]);
  const seal = (row: AnchorRow): AnchorRow => ({ ...row, seal: seals.sealHex(payloadOfAnchorRow(row)) });
  const read = (row: AnchorRow): AnchorRow => {
    const { collectionId, address, revision, epoch } = row;
    if (hasValidSeal(row, seals)) {
      unsound.delete(collectionId);
      return row;
    }
    if (!unsound.has(collectionId)) logHalt(log, collectionId, REASON);
    unsound.add(collectionId);
    const halted = { reason: REASON, at: new Date(wallMs()).toISOString() };
    return { ...emptyAnchorRow(collectionId, address, revision), epoch, halted };
  };
  const get = async (collectionId: CollectionId): Promise<AnchorRow | null> => {
    const row = await anchors.get(collectionId);
    if (row === null) unsound.delete(collectionId);
    return row && read(row);
  };
  const past = new AnchorHistory(anchors, seals, get);
  return {
    unsound,
    past,
    get,
    getMany: async (collectionIds) => (await anchors.getMany(collectionIds)).map(read),
    async *all() {
      const gone = new Set(unsound);
      for await (const rows of anchors.all()) {
        for (const { collectionId } of rows) gone.delete(collectionId);
        yield rows.map(read);
      }
      for (const collectionId of gone) unsound.delete(collectionId);
    },
    add: (row) => anchors.add(seal(row)),
    put: async (row, history) => {
      if (history === undefined) return anchors.put(seal(row));
      const item = await past.placed(row.collectionId, history);
      const isStored = await anchors.put(seal(row), item);
      // The root is confirmed, whether older ones can be removed or not.
      if (isStored)
        await past.trim(row.collectionId, item).catch((error: unknown) => log.error({ err: error }, UNTRIMMED));
      return isStored;
    },
    open: (standing) => anchors.open(standing),
    history: (collectionId, limit, before) => anchors.history(collectionId, limit, before),
    trimHistory: (collectionId, before) => anchors.trimHistory(collectionId, before),
    remove: (collectionId, revision) => {
      unsound.delete(collectionId);
      return anchors.remove(collectionId, revision);
    },
    beat: (instance) => anchors.beat(instance),
    instances: () => anchors.instances(),
    endInstance: (instance) => anchors.endInstance(instance),
  };
}

function hasValidSeal(row: AnchorRow, seals: Seals): boolean {
  try {
    return seals.verifyHex(payloadOfAnchorRow(row), row.seal);
  } catch {
    // A tampered row need not match its type.
    return false;
  }
}

function payloadOfAnchorRow(row: AnchorRow): MacPayload {
  const { collectionId, revision, epoch, address, created, wanted, wantedAt, halted, trusted, lapsed, closing } = row;
  const { inFlight, confirmed } = row;
  return [
    [collectionId, revision, epoch, address, created, wanted && textOf(wanted), wantedAt],
    inFlight && [
      inFlight.step,
      inFlight.signature,
      inFlight.wire,
      inFlight.lastValidBlockHeight,
      inFlight.cut && textOf(inFlight.cut),
      inFlight.decisions,
    ],
    confirmed && [
      textOf(confirmed.cut),
      confirmed.version,
      confirmed.merkleRoot,
      confirmed.vectorCount,
      confirmed.decisions,
      confirmed.signature,
      confirmed.confirmedAt,
    ],
    halted && [halted.reason, halted.at],
    trusted,
    lapsed?.map(({ merkleRoot, version, vectorCount, decisions }) => [merkleRoot, version, vectorCount, decisions]) ??
      null,
    closing,
  ];
}

function textOf(cut: Cut): string {
  const heads = cut.map(({ seq, version, type, hash, count }) => [
    seq,
    version,
    type,
    Buffer.from(hash).toString('hex'),
    count,
  ]);
  return JSON.stringify(heads);
}
