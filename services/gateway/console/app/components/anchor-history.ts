import { useState } from 'preact/hooks';
import type * as Api from '../../../../../client/api/generated.ts';
import { useAction } from '../data/use-action.ts';
import { html } from '../html.ts';
import { Badge } from './badge.ts';
import { Button } from './button.ts';
import { Lazy } from './lazy.ts';
import { LedgerLink } from './ledger-link.ts';
import { FailureNotice, Notice } from './notice.ts';
import { numberText } from './number-text.ts';
import { RootFingerprint } from './root-fingerprint.ts';
import { type Column, Table } from './table.ts';
import { Time } from './time.ts';
import { VisibleText } from './visible-text.ts';

type History = Api.ListAnchorsResult;
type Fault = NonNullable<History['faults']>[number];

/** Faults that are shown one by one. */
const FAULTS_SHOWN = 10;
const loadChart = () => import('./time-chart.ts');
const UNSEALED =
  'An earlier version of Provec wrote this entry, or the service had no keypair. Only the ledger shows whether it is right.';

const COLUMNS: readonly Column<Api.Anchor>[] = [
  { title: 'Version', isNumber: true, cell: ({ version }) => numberText.whole(version) },
  { title: 'Root', cell: ({ merkleRoot }) => html`<${RootFingerprint} root=${merkleRoot} />` },
  { title: 'Vectors', isNumber: true, isExtra: true, cell: ({ vectorCount }) => numberText.whole(vectorCount) },
  {
    title: 'Transaction',
    isExtra: true,
    cell: ({ ledgerTx, ledgerExplorerUrl }) =>
      html`<${LedgerLink} value=${ledgerTx} url=${ledgerExplorerUrl} what="the transaction" />`,
  },
  {
    title: 'Confirmed',
    cell: ({ confirmedAt, sealed }) => html`<${Time} at=${confirmedAt} />
      ${!sealed && html` <span title=${UNSEALED}><${Badge} tone="neutral">Not sealed<//></span>`}`,
  },
];

interface AnchorHistoryProps {
  /** The newest page. */
  first: History;
  more(cursor: string, signal: AbortSignal): Promise<History>;
}

/** The roots that the ledger confirmed, newest first, and the size of the collection over time. */
export function AnchorHistory({ first, more }: AnchorHistoryProps) {
  const [later, setLater] = useState<History[]>([]);
  const load = useAction(async (signal, cursor: string) => {
    const page = await more(cursor, signal);
    setLater((pages) => [...pages, page]);
  });
  const pages = [first, ...later];
  const anchors = pages.flatMap((page) => page.anchors);
  const faults = pages.flatMap((page) => page.faults ?? []);
  const { nextCursor, dropped } = pages.at(-1)!;
  return html`<section class="card">
    <h2>Roots on the ledger</h2>
    <${Faults} faults=${faults} />
    ${
      anchors.length === 0
        ? html`<p class="muted">No root of this collection is on a ledger.</p>`
        : html`<${Course} anchors=${anchors} />
            <${Table} label="Roots on the ledger" columns=${COLUMNS} rows=${anchors}
              keyOf=${({ position }: Api.Anchor) => `${position}`} />`
    }
    <${FailureNotice} failure=${load.failure} />
    ${
      nextCursor !== null &&
      html`<div class="more-row">
        <span class="muted">${numberText.count(anchors.length, 'root')} shown</span>
        <${Button} isBusy=${load.isBusy} onClick=${() => load.run(nextCursor)}>Show earlier ones<//>
      </div>`
    }
    ${
      nextCursor === null &&
      dropped > 0 &&
      html`<p class="hint">
        ${numberText.count(dropped, 'older root')} ${dropped === 1 ? 'is' : 'are'} no longer kept here. The ledger has
        their transactions.
      </p>`
    }
  </section>`;
}

/** Entries that someone changed behind the service's back. */
function Faults({ faults }: { faults: readonly Fault[] }) {
  if (faults.length === 0) return null;
  const more = faults.length - FAULTS_SHOWN;
  return html`<${Notice} tone="bad">
    <strong>This history was changed in the store.</strong> The entries below are not what the service wrote; the
    ledger has what it confirmed.
    <ul class="faults">
      ${faults
        .slice(0, FAULTS_SHOWN)
        .map(
          ({ position, fault }) =>
            html`<li>Position ${numberText.whole(position)}: <${VisibleText} value=${fault} /></li>`,
        )}
      ${more > 0 && html`<li>and ${numberText.whole(more)} more</li>`}
    </ul>
  <//>`;
}

/** Needs two points for a line. */
function Course({ anchors }: { anchors: readonly Api.Anchor[] }) {
  if (anchors.length < 2) return null;
  const points = anchors
    .map(({ confirmedAt, vectorCount }) => ({ seconds: Date.parse(confirmedAt) / 1_000, value: vectorCount }))
    .reverse();
  return html`<${Lazy} load=${loadChart} props=${{ points, label: 'Vectors' }} />`;
}
