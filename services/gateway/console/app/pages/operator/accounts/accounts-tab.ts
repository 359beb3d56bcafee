import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { NewKey } from '../../../components/new-key.ts';
import { numberText } from '../../../components/number-text.ts';
import { Paged } from '../../../components/paged.ts';
import { type Column, Table } from '../../../components/table.ts';
import { Time } from '../../../components/time.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { usePages } from '../../../data/use-pages.ts';
import { html } from '../../../html.ts';
import { hrefOf, type PageRoute } from '../../../shell/route.ts';
import { AccountView } from './account-view.ts';
import { CreateAccountDialog } from './create-account-dialog.ts';

/** Accounts of a page: the service counts the usage of each. */
const PAGE = 50;

/** The list of accounts, or one of them. */
export default function AccountsTab({ route }: { route: PageRoute }) {
  const id = route.path[2];
  return id === undefined ? html`<${AccountList} />` : html`<${AccountView} key=${id} id=${id} />`;
}

function AccountList() {
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<Api.CreateAccountResult | null>(null);
  const accounts = usePages(
    (cursor, signal) =>
      askOperator('listAccounts', { query: { limit: PAGE, usage: true, ...(cursor && { cursor }) } }, signal),
    [],
  );
  const created = (result: Api.CreateAccountResult) => {
    setCreating(false);
    setMade(result);
    accounts.reload();
  };
  const show = (pages: readonly Api.ListAccountsResult[]) =>
    html`<${AccountTable} accounts=${pages.flatMap((page) => page.accounts)} />`;
  return html`<div class="tab-head">
      <p class="muted">The oldest come first. Counts are those of this month.</p>
      <${Button} kind="primary" onClick=${() => setCreating(true)}>New account<//>
    </div>
    ${made !== null && html`<${NewKey} made=${{ ...made.key, name: made.account.name }} onDone=${() => setMade(null)} />`}
    <${Paged} from=${accounts} what="accounts" show=${show} />
    ${isCreating && html`<${CreateAccountDialog} onClose=${() => setCreating(false)} onCreated=${created} />`}`;
}

const used = (measure: keyof Api.Usage['usage']) =>
  function Used({ usage }: Api.Account) {
    if (usage === undefined) return null;
    const limit = usage.limits[measure];
    return html`<span title=${limit === null ? 'no limit' : `of ${numberText.whole(limit)}`}>${numberText.whole(usage.usage[measure])}</span>`;
  };

const COLUMNS: readonly Column<Api.Account>[] = [
  {
    title: 'Account',
    cell: ({ id, name }) => html`<a class="row-link" href=${hrefOf(['operator', 'accounts', id])}>
      <${VisibleText} value=${name} max=${64} />
    </a>`,
  },
  { title: 'Plan', cell: ({ plan }) => plan },
  { title: 'Vectors', isNumber: true, cell: used('vector_count') },
  { title: 'Collections', isNumber: true, isExtra: true, cell: used('collection_count') },
  { title: 'Keys', isNumber: true, isExtra: true, cell: used('key_count') },
  { title: 'Written', isNumber: true, isExtra: true, cell: used('write_count') },
  { title: 'Queries', isNumber: true, isExtra: true, cell: used('query_count') },
  { title: 'Created', isExtra: true, cell: ({ created_at }) => html`<${Time} at=${created_at} isDay />` },
];

function AccountTable({ accounts }: { accounts: readonly Api.Account[] }) {
  return html`<${Table} label="Accounts" columns=${COLUMNS} rows=${accounts} keyOf=${({ id }: Api.Account) => id} />`;
}
