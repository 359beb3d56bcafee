import type * as Api from '../../../../../client/api/generated.ts';
import { html } from '../html.ts';
import { AnchorBadge } from './anchor-badge.ts';
import { LedgerLink } from './ledger-link.ts';
import { Notice } from './notice.ts';
import { numberText } from './number-text.ts';
import { Time } from './time.ts';

const MEANINGS = {
  confirmed: 'The ledger holds this root. A change to a stored record would show.',
  pending: 'The newest root waits for the ledger. Reads and writes go on.',
  none: 'Nothing of this collection is on a ledger: the ledger is off, the plan has no anchoring, or nothing was written yet.',
  halted: 'What is stored, or what is on the ledger, contradicts what was recorded. Verify names the records.',
} as const;

interface AnchorCardProps {
  anchor: Api.CollectionDetail['anchor'];
  /** Version of the newest root. */
  version: number;
}

/** What the ledger holds of a collection. */
export function AnchorCard({ anchor, version }: AnchorCardProps) {
  const { status, ledgerTx, ledgerAddress, ledgerExplorerUrl, confirmedAt } = anchor;
  return html`<section class="card">
    <h2>Anchor <${AnchorBadge} state=${status} /></h2>
    ${status === 'halted' ? html`<${Notice} tone="bad">${MEANINGS.halted}<//>` : html`<p>${MEANINGS[status]}</p>`}
    <dl class="facts">
      ${
        anchor.version !== null &&
        html`<dt>Version on the ledger</dt><dd>${numberText.whole(anchor.version)}${anchor.version === version ? '' : ` of ${numberText.whole(version)}`}</dd>`
      }
      ${ledgerTx !== null && html`<dt>Transaction</dt><dd><${LedgerLink} value=${ledgerTx} url=${ledgerExplorerUrl} what="the transaction" /></dd>`}
      ${ledgerAddress !== null && html`<dt>Account</dt><dd><${LedgerLink} value=${ledgerAddress} url=${null} what="the account" /></dd>`}
      ${confirmedAt !== null && html`<dt>Confirmed</dt><dd><${Time} at=${confirmedAt} /></dd>`}
    </dl>
    ${
      ledgerTx !== null &&
      ledgerExplorerUrl === null &&
      html`<p class="hint">
        No explorer knows this ledger. The embedded one is for development: it lies beside the data that it is about.
      </p>`
    }
  </section>`;
}
