import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { Notice } from '../../../components/notice.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { html } from '../../../html.ts';
import { CollectionName } from '../collection-name.ts';

interface HaltedCardProps {
  anchor: Api.AnchorOverview;
  onResume(anchor: Api.AnchorOverview): void;
}

/** A collection whose content contradicts what was recorded. */
export function HaltedCard({ anchor, onResume }: HaltedCardProps) {
  const { collection, collectionId, haltedReason } = anchor;
  return html`<section class="card halted-card">
    <${Notice} tone="bad">
      <strong>Anchoring is halted.</strong> Reads and writes go on; no root goes to the ledger until you decide.
    <//>
    <dl class="facts">
      <dt>Collection</dt><dd><${CollectionName} name=${collection} id=${collectionId} /></dd>
      <dt>Contradiction</dt><dd><${VisibleText} value=${haltedReason ?? 'unknown'} max=${400} /></dd>
    </dl>
    <p>
      Someone may have changed the stored records, or a backup was restored. Find out first: in the account, the tab <em>Trust</em> names the records that differ.
    </p>
    <${Button} onClick=${() => onResume(anchor)}>Accept the content…<//>
  </section>`;
}
