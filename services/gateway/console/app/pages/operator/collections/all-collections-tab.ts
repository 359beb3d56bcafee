import type * as Api from '../../../../../../../client/api/generated.ts';
import { EmptyState } from '../../../components/empty-state.ts';
import { numberText } from '../../../components/number-text.ts';
import { Paged } from '../../../components/paged.ts';
import { type Column, Table } from '../../../components/table.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { usePages } from '../../../data/use-pages.ts';
import { html } from '../../../html.ts';
import { hrefOf } from '../../../shell/route.ts';
import { AnchoringBadge } from '../anchoring-badge.ts';
import { UnreachableNotice } from '../unreachable-notice.ts';

type Row = Api.CollectionOfAccount;

const PAGE = 100;

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'Collection',
    cell: ({ id, name }) =>
      html`<a class="row-link" href=${hrefOf(['operator', 'shards'], { collection: id })}>${name}</a>`,
  },
  {
    title: 'Account',
    cell: ({ account, accountId }) => html`<a class="row-link" href=${hrefOf(['operator', 'accounts', accountId])}>
      <${VisibleText} value=${account} max=${64} />
    </a>`,
  },
  { title: 'Vectors', isNumber: true, cell: ({ vectors }) => numberText.whole(vectors) },
  { title: 'Memory', isNumber: true, isExtra: true, cell: ({ bytes }) => numberText.bytes(bytes) },
  { title: 'Shards', isNumber: true, isExtra: true, cell: ({ shards }) => numberText.whole(shards) },
  { title: 'Copies', isNumber: true, isExtra: true, cell: ({ replicas }) => numberText.whole(replicas) },
  { title: 'Proof', isExtra: true, cell: ({ anchor }) => html`<${AnchoringBadge} state=${anchor} />` },
];

/** The collections of all accounts. */
export default function AllCollectionsTab() {
  const collections = usePages(
    (cursor, signal) =>
      askOperator('listAllCollections', { query: { limit: PAGE, ...(cursor && { cursor }) } }, signal),
    [],
  );
  const show = (pages: readonly Api.ListAllCollectionsResult[]) => {
    const rows = pages.flatMap((page) => page.collections);
    if (rows.length === 0) return html`<${EmptyState} title="No account has a collection yet" icon="layers" />`;
    return html`<${UnreachableNotice} nodes=${pages.flatMap((page) => page.unreachable)} />
      <${Table} label="Collections of all accounts" columns=${COLUMNS} rows=${rows} keyOf=${({ id }: Row) => id} />`;
  };
  return html`<div class="tab-head"><p class="muted">What the collections are called and how large they are; their records are shown to their account alone.</p></div>
    <${Paged} from=${collections} what="the collections" show=${show} />`;
}
