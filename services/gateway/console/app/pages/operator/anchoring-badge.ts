import type * as Api from '../../../../../../client/api/generated.ts';
import { AnchorBadge } from '../../components/anchor-badge.ts';
import { Badge } from '../../components/badge.ts';
import { html } from '../../html.ts';

/** What the ledger holds of a collection, as the operator sees it. */
export function AnchoringBadge({ state }: { state: Api.AnchorOverview['state'] }) {
  if (state !== 'closing') return html`<${AnchorBadge} state=${state} />`;
  return html`<span title="The collection was deleted; its account on the ledger is being closed."><${Badge} tone="waiting">Closing<//></span>`;
}
