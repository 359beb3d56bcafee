import type * as Api from '../../../../../../../client/api/generated.ts';
import { Badge } from '../../../components/badge.ts';
import { LedgerLink } from '../../../components/ledger-link.ts';
import { Loadable } from '../../../components/loadable.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';

const LAMPORTS_PER_SOL = 1_000_000_000;
const SOL = new Intl.NumberFormat(undefined, { maximumFractionDigits: 4 });

/** The ledger that roots go to, and who signs for them. */
export function AuthorityCard() {
  const ledger = useData((signal) => askOperator('getLedger', { query: {} }, signal), []);
  return html`<section class="card">
    <h2>Ledger</h2>
    <${Loadable} from=${ledger} what="the ledger" show=${(value: Api.Ledger) => html`<${Facts} ledger=${value} />`} />
  </section>`;
}

function Facts({ ledger }: { ledger: Api.Ledger }) {
  const { enabled, isEmbedded, cluster, program, authority, lamports, rpc } = ledger;
  if (!enabled)
    return html`<p><${Badge} tone="waiting">Off<//> Nothing is anchored. <code>PROVEC_LEDGER</code> switches it on.</p>`;
  return html`<div class="stack"><dl class="facts">
      <dt>Cluster</dt><dd>${isEmbedded ? 'Embedded, for development' : cluster}</dd>
      ${authority !== null && html`<dt>Authority</dt><dd><${LedgerLink} value=${authority} url=${null} what="the authority" isWhole /></dd>`}
      <dt>Balance</dt><dd>${lamports === null ? 'The ledger does not answer.' : `${SOL.format(lamports / LAMPORTS_PER_SOL)} SOL`}</dd>
      <dt>Program</dt><dd><${LedgerLink} value=${program} url=${null} what="the program" isWhole /></dd>
      <dt>Nodes</dt><dd>${rpc.map((origin) => html`<code>${origin}</code> `)}</dd>
    </dl>
    ${
      isEmbedded &&
      html`<p class="hint">The embedded ledger lies beside the data that it is about, so it proves nothing to others.</p>`
    }</div>`;
}
