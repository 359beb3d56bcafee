import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { EmptyState } from '../../../components/empty-state.ts';
import { Paged } from '../../../components/paged.ts';
import { TextInput } from '../../../components/text-input.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { usePages } from '../../../data/use-pages.ts';
import { html } from '../../../html.ts';
import { goTo, hrefOf, type PageRoute } from '../../../shell/route.ts';
import { UnreachableNotice } from '../unreachable-notice.ts';
import { AllShardsTable } from './all-shards-table.ts';
import { MoveDialog } from './move-dialog.ts';

const PAGE = 100;

/** Where the shards are, and moving one. */
export default function ShardsTab({ route }: { route: PageRoute }) {
  const collection = route.query.get('collection') ?? '';
  const [moved, setMoved] = useState<Api.Shard | null>(null);
  const shards = usePages(
    (cursor, signal) => {
      const query = { limit: PAGE, ...(collection !== '' && { collection }), ...(cursor && { cursor }) };
      return askOperator('listShards', { query }, signal);
    },
    [collection],
  );
  const show = (pages: readonly Api.ListShardsResult[]) => {
    const rows = pages.flatMap((page) => page.shards);
    if (rows.length === 0) return html`<${EmptyState} title="There are no shards yet" icon="layers" />`;
    return html`<${UnreachableNotice} nodes=${pages.flatMap((page) => page.unreachable)} />
      <${AllShardsTable} shards=${rows} onMove=${setMoved} />`;
  };
  return html`<${CollectionFilter} key=${collection} collection=${collection} onRefresh=${shards.reload} />
    <${Paged} from=${shards} what="the shards" show=${show} />
    ${
      moved !== null && html`<${MoveDialog} shard=${moved} onClose=${() => setMoved(null)} onMoved=${shards.reload} />`
    }`;
}

function CollectionFilter({ collection, onRefresh }: { collection: string; onRefresh(): void }) {
  const [text, setText] = useState(collection);
  const submit = (event: Event) => {
    event.preventDefault();
    const wanted = text.trim();
    if (wanted === collection) onRefresh();
    else goTo(hrefOf(['operator', 'shards'], wanted === '' ? {} : { collection: wanted }));
  };
  return html`<form class="tab-head tab-filter" onSubmit=${submit}>
    <${TextInput} label="Collection" value=${text} onInput=${setText} isCode placeholder="all"
      hint="Its id, <account id>/<name>, or a name that only one account has." />
    <${Button} type="submit">${text.trim() === collection ? 'Refresh' : 'Show'}<//>
  </form>`;
}
