import type * as Api from '../../../../../../../client/api/generated.ts';
import { AnchorBadge } from '../../../components/anchor-badge.ts';
import { LedgerLink } from '../../../components/ledger-link.ts';
import { Notice } from '../../../components/notice.ts';
import { numberText } from '../../../components/number-text.ts';
import { RootFingerprint } from '../../../components/root-fingerprint.ts';
import { Time } from '../../../components/time.ts';
import { html } from '../../../html.ts';
import type { TabProps } from '../tab-props.ts';
import { AnchorTimeline } from './anchor-timeline.ts';
import { VerifyPanel } from './verify-panel.ts';

/** What proves the content of a collection, and whether it still does. */
export default function TrustTab({ collection }: TabProps) {
  return html`<${VerifyPanel} collection=${collection} />
    <div class="split-even split">
      <${RootCard} collection=${collection} />
      <${AnchorCard} collection=${collection} />
    </div>
    <${AnchorTimeline} collection=${collection} />`;
}

function RootCard({ collection: { merkleRoot, version, vector_count } }: { collection: Api.CollectionDetail }) {
  return html`<section class="card">
    <h2>Root</h2>
    <${RootFingerprint} root=${merkleRoot} isWhole />
    <p class="hint">
      Follows from ${vector_count === 1 ? 'the one record' : `exactly these ${numberText.count(vector_count, 'record')}`},
      in any order and any number of shards. Version ${numberText.whole(version)}.
    </p>
  </section>`;
}

const MEANINGS = {
  confirmed: 'The ledger holds this root. A change to a stored record would show.',
  pending: 'The newest root waits for the ledger. Reads and writes go on.',
  none: 'Nothing of this collection is on a ledger: the ledger is off, the plan has no anchoring, or nothing was written yet.',
  halted: 'What is stored, or what is on the ledger, contradicts what was recorded. Verify names the records.',
} as const;

function AnchorCard({ collection: { anchor, version } }: { collection: Api.CollectionDetail }) {
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
