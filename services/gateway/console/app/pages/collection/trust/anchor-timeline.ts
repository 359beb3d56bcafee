import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { Lazy } from '../../../components/lazy.ts';
import { LedgerLink } from '../../../components/ledger-link.ts';
import { Loadable } from '../../../components/loadable.ts';
import { FailureNotice } from '../../../components/notice.ts';
import { numberText } from '../../../components/number-text.ts';
import { RootFingerprint } from '../../../components/root-fingerprint.ts';
import { type Column, Table } from '../../../components/table.ts';
import { Time } from '../../../components/time.ts';
import { ask } from '../../../data/service.ts';
import { useAction } from '../../../data/use-action.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';

const PAGE = 100;
const loadChart = () => import('../../../components/time-chart.ts');

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
  { title: 'Confirmed', cell: ({ confirmedAt }) => html`<${Time} at=${confirmedAt} />` },
];

/** Every root that the ledger ever held, newest first, and the size of the collection over time. */
export function AnchorTimeline({ collection: { name, version } }: { collection: Api.CollectionDetail }) {
  const pageAt = (cursor: string | undefined, signal: AbortSignal) =>
    ask('listAnchors', { path: { name }, query: { limit: PAGE, ...(cursor !== undefined && { cursor }) } }, signal);
  const [later, setLater] = useState<Api.ListAnchorsResult[]>([]);
  const first = useData((signal) => pageAt(undefined, signal), [name, version]);
  const more = useAction(async (signal, cursor: string) => {
    const page = await pageAt(cursor, signal);
    setLater((pages) => [...pages, page]);
  });
  const show = (page: Api.ListAnchorsResult) => {
    const pages = [page, ...later];
    const anchors = pages.flatMap((one) => one.anchors);
    const { nextCursor } = pages.at(-1)!;
    if (anchors.length === 0) return html`<p class="muted">No root of this collection is on a ledger.</p>`;
    return html`<${Course} anchors=${anchors} />
      <${Table} label="Roots on the ledger" columns=${COLUMNS} rows=${anchors} keyOf=${(one: Api.Anchor) => one.ledgerTx} />
      <${FailureNotice} failure=${more.failure} />
      ${
        nextCursor !== null &&
        html`<div class="more-row"><${Button} isBusy=${more.isBusy} onClick=${() => more.run(nextCursor)}>Show earlier ones<//></div>`
      }`;
  };
  return html`<section class="card">
    <h2>Roots on the ledger</h2>
    <${Loadable} from=${first} what="the roots" show=${show} />
  </section>`;
}

/** Needs two points for a line. */
function Course({ anchors }: { anchors: readonly Api.Anchor[] }) {
  if (anchors.length < 2) return null;
  const points = anchors
    .map(({ confirmedAt, vectorCount }) => ({ seconds: Date.parse(confirmedAt) / 1_000, value: vectorCount }))
    .reverse();
  return html`<${Lazy} load=${loadChart} props=${{ points, label: 'Vectors' }} />`;
}
