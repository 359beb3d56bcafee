import { useCallback, useState } from 'preact/hooks';
import type * as Api from '../../../../../../client/api/generated.ts';
import { Button } from '../../components/button.ts';
import { Lazy } from '../../components/lazy.ts';
import { Loadable } from '../../components/loadable.ts';
import { FailureNotice } from '../../components/notice.ts';
import { PageHead } from '../../components/page-head.ts';
import { ask } from '../../data/service.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { useData } from '../../data/use-data.ts';
import { html } from '../../html.ts';
import { goTo, hrefOf, type PageRoute } from '../../shell/route.ts';
import { CollectionTable } from './collection-table.ts';
import { CreateDialog } from './create-dialog.ts';
import { FirstCollection } from './first-collection.ts';

/** Collections that one request returns. */
const PAGE = 100;

const loadCollection = () => import('../collection/collection-page.ts');

/** The list of collections, or one of them. */
export default function CollectionsPage({ route }: { route: PageRoute }) {
  const name = route.path[1];
  if (name === undefined) return html`<${CollectionList} />`;
  return html`<${Lazy} key=${name} load=${loadCollection} props=${{ name, route }} />`;
}

const pageAt = (cursor: string | undefined, signal: AbortSignal) =>
  ask('listCollections', { query: { limit: PAGE, ...(cursor !== undefined && { cursor }) } }, signal);

function CollectionList() {
  const [isCreating, setCreating] = useState(false);
  const [later, setLater] = useState<Api.ListCollectionsResult[]>([]);
  const first = useData((signal) => pageAt(undefined, signal), []);
  const { scopes } = useSession();
  const open = useCallback(() => setCreating(true), []);
  const more = useAction(async (signal, cursor: string) => {
    const page = await pageAt(cursor, signal);
    setLater((pages) => [...pages, page]);
  });
  const show = (page: Api.ListCollectionsResult) => {
    const pages = [page, ...later];
    const collections = pages.flatMap((one) => one.collections);
    const { nextCursor } = pages.at(-1)!;
    if (collections.length === 0) return html`<${FirstCollection} mayCreate=${scopes.manage} onCreate=${open} />`;
    return html`<${CollectionTable} collections=${collections} />
      <${FailureNotice} failure=${more.failure} />
      ${
        nextCursor !== undefined &&
        html`<div class="more-row"><${Button} isBusy=${more.isBusy} onClick=${() => more.run(nextCursor)}>Show more<//></div>`
      }`;
  };
  return html`<${PageHead} title="Collections" about="Sets of vectors, each with a root that proves what is in it.">
      <${Button} kind="primary" disabled=${!scopes.manage} onClick=${open}>New collection<//>
    <//>
    ${!scopes.manage && html`<p class="hint read-only">This key may not create or delete collections.</p>`}
    <${Loadable} from=${first} what="collections" show=${show} />
    ${
      isCreating &&
      html`<${CreateDialog}
        onClose=${() => setCreating(false)}
        onCreated=${(name: string) => goTo(hrefOf(['collections', name]))}
      />`
    }`;
}
