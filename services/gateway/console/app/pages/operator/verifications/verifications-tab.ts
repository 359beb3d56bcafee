import type * as Api from '../../../../../../../client/api/generated.ts';
import { Badge, type Tone } from '../../../components/badge.ts';
import { Bar } from '../../../components/bar.ts';
import { Button } from '../../../components/button.ts';
import { EmptyState } from '../../../components/empty-state.ts';
import { numberText } from '../../../components/number-text.ts';
import { Paged } from '../../../components/paged.ts';
import { type Column, Table } from '../../../components/table.ts';
import { Time } from '../../../components/time.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { usePages } from '../../../data/use-pages.ts';
import { html } from '../../../html.ts';
import { CollectionName } from '../collection-name.ts';
import { UnreachableNotice } from '../unreachable-notice.ts';

type Row = Api.VerificationOverview;

const PAGE = 100;
const VERDICTS: Readonly<Record<NonNullable<Row['verdict']>, readonly [tone: Tone, text: string]>> = {
  match: ['good', 'Match'],
  mismatch: ['bad', 'Mismatch'],
  pending: ['waiting', 'Not anchored yet'],
  unreachable: ['waiting', 'Ledger away'],
  none: ['neutral', 'Nothing written'],
  not_anchored: ['neutral', 'Not on a ledger'],
};

function verdictOf({ state, verdict, error }: Row): readonly [tone: Tone, text: string, meaning: string] {
  if (state === 'running') return ['waiting', 'Running', ''];
  if (state === 'failed' || verdict === null) return ['bad', 'Failed', error ?? ''];
  return [...VERDICTS[verdict], ''];
}

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'Collection',
    cell: ({ collection, collectionId }) => html`<${CollectionName} name=${collection} id=${collectionId} />`,
  },
  {
    title: 'Verdict',
    cell: (row) => {
      const [tone, text, meaning] = verdictOf(row);
      return html`<span title=${meaning}><${Badge} tone=${tone}>${text}<//></span>`;
    },
  },
  {
    title: 'Records',
    isExtra: true,
    cell: ({ progress: { scanned, total } }) => html`<span class="score">
      <${Bar} share=${total === 0 ? 1 : scanned / total} /> ${numberText.whole(scanned)} of ${numberText.whole(total)}
    </span>`,
  },
  { title: 'Began', isExtra: true, cell: ({ startedAt }) => html`<${Time} at=${startedAt} />` },
  {
    title: 'Ended',
    isExtra: true,
    cell: ({ endedAt }) => (endedAt === null ? html`<span class="muted">–</span>` : html`<${Time} at=${endedAt} />`),
  },
];

/** Background verifications of all accounts: those that run, then those of the last hour. */
export default function VerificationsTab() {
  const verifications = usePages(
    (cursor, signal) =>
      askOperator('listAllVerifications', { query: { limit: PAGE, ...(cursor && { cursor }) } }, signal),
    [],
  );
  const show = (pages: readonly Api.ListAllVerificationsResult[]) => {
    const rows = pages.flatMap((page) => page.verifications);
    const silent = html`<${UnreachableNotice} nodes=${pages.flatMap((page) => page.unreachable)} />`;
    if (rows.length === 0)
      return html`${silent}<${EmptyState} title="No verifications in the last hour">
        <p>An account starts one on the page <em>Trust</em> of a collection.</p>
      <//>`;
    return html`${silent}<${Table} label="Verifications" columns=${COLUMNS} rows=${rows} keyOf=${({ id }: Row) => id} />`;
  };
  return html`<div class="tab-head">
      <p class="muted">Those that run come first, then those that ended within the last hour.</p>
      <${Button} onClick=${verifications.reload}>Refresh<//>
    </div>
    <${Paged} from=${verifications} what="the verifications" show=${show} />`;
}
