import type { HistoryFault, PastAnchor } from '../../../contracts/actions/anchoring.ts';
import type { CollectionId } from '../../../lib/ids.ts';
import type { MacPayload, Seals } from '../../../lib/secret/seals.ts';
import { type AnchorHistoryItem, type HistoryPlace, historyPositionOf } from '../../../store/anchors.ts';

export type PlacedItem = AnchorHistoryItem & { place: HistoryPlace };

/** Returns what the seal of an item covers. */
export function payloadOfItem(
  collectionId: CollectionId,
  item: AnchorHistoryItem,
  { position, start }: Pick<HistoryPlace, 'position' | 'start'>,
): MacPayload {
  const { version, merkleRoot, vectorCount, decisions = null, signature, confirmedAt } = item;
  return [
    'history',
    collectionId,
    position,
    start,
    version,
    merkleRoot,
    vectorCount,
    decisions,
    signature,
    confirmedAt,
  ];
}

/** Returns whether a holder of the keypair wrote the item at its place of this collection. */
export function isSealedItem(collectionId: CollectionId, item: AnchorHistoryItem, seals: Seals): item is PlacedItem {
  const { place } = item;
  return place !== undefined && seals.verifyHex(payloadOfItem(collectionId, item, place), place.seal);
}

/** Returns an item whose seal is missing or cannot be verified here. */
export function unverified(item: AnchorHistoryItem): PastAnchor {
  const { place: _, ...root } = item;
  return { ...root, decisions: root.decisions ?? null, position: historyPositionOf(item), isSealed: false };
}

/**
 * Goes through the items of a history, newest first, and separates those that the service wrote
 * from forged and missing ones. A sealed item says from which position on every item has a seal, so
 * one without a seal is accepted only below that: an earlier version may have written it.
 */
export class HistoryCheck {
  readonly items: PastAnchor[] = [];
  readonly faults: HistoryFault[] = [];
  readonly #isSealed: (item: AnchorHistoryItem) => item is PlacedItem;
  /** Positions at which a sealed item must follow: from `next` down to `start`. Null: none. */
  #owed: { next: number; start: number } | null = null;

  constructor(isSealed: (item: AnchorHistoryItem) => item is PlacedItem) {
    this.#isSealed = isSealed;
  }

  /** Takes in the item above the first one. */
  above(item: AnchorHistoryItem): void {
    if (this.#isSealed(item)) this.#owe(item.place);
  }

  /** Takes in the next older item. */
  add(item: AnchorHistoryItem): void {
    const position = historyPositionOf(item);
    this.missing(position + 1);
    const owed = this.#owed;
    if (this.#isSealed(item)) {
      const { place, ...root } = item;
      this.items.push({ ...root, decisions: root.decisions ?? null, position, isSealed: true });
      this.#owe(place);
    } else if (item.place !== undefined || owed !== null) {
      this.faults.push({ position, fault: 'The service did not write this entry, or wrote it under another keypair.' });
      this.#owed = owed !== null && position > owed.start ? { next: position - 1, start: owed.start } : null;
    } else {
      this.items.push(unverified(item));
    }
  }

  /** Names the items that are owed at or above `through` and did not follow. */
  missing(through: number): void {
    const owed = this.#owed;
    if (owed === null) return;
    const [last, first] = [owed.next, Math.max(owed.start, through)];
    if (first > last) return;
    const fault = first === last ? `Entry ${last} is missing.` : `Entries ${first} to ${last} are missing.`;
    this.faults.push({ position: last, fault });
    this.#owed = first > owed.start ? { next: first - 1, start: owed.start } : null;
  }

  #owe({ position, start }: HistoryPlace): void {
    this.#owed = position > start ? { next: position - 1, start } : null;
  }
}
