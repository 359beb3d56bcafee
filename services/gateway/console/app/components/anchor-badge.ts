import { html } from '../html.ts';
import { Badge, type Tone } from './badge.ts';

export type AnchorState = 'confirmed' | 'pending' | 'none' | 'halted';

const BADGES: Readonly<Record<AnchorState, readonly [tone: Tone, text: string, meaning: string]>> = {
  confirmed: ['good', 'Anchored', 'The ledger holds the newest root.'],
  pending: ['waiting', 'Pending', 'The newest root waits to be written to the ledger.'],
  none: ['neutral', 'Not anchored', 'The plan has no anchoring, the ledger is off, or nothing was written yet.'],
  halted: ['bad', 'Halted', 'The stored data or the ledger contradicts what was recorded. See Trust.'],
};

/** What the ledger holds of a collection. */
export function AnchorBadge({ state }: { state: AnchorState }) {
  const [tone, text, meaning] = BADGES[state];
  return html`<span title=${meaning}><${Badge} tone=${tone}>${text}<//></span>`;
}
