import type * as Api from '../../../../../../../client/api/generated.ts';
import { AnchorHistory } from '../../../components/anchor-history.ts';
import { Loadable } from '../../../components/loadable.ts';
import { ask } from '../../../data/service.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';

const PAGE = 100;

/** The roots of a collection over time. */
export function RootTimeline({ collection: { name, version } }: { collection: Api.CollectionDetail }) {
  const pageAt = (cursor: string | undefined, signal: AbortSignal) =>
    ask('listAnchors', { path: { name }, query: { limit: PAGE, ...(cursor !== undefined && { cursor }) } }, signal);
  const first = useData((signal) => pageAt(undefined, signal), [name, version]);
  const show = (page: Api.ListAnchorsResult) =>
    html`<${AnchorHistory} key=${page.anchors[0]?.position} first=${page} more=${pageAt} />`;
  return html`<${Loadable} from=${first} what="the roots" show=${show} />`;
}
