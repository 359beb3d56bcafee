import type { FunctionComponent } from 'preact';
import type * as Api from '../../../../../../client/api/generated.ts';
import { AnchorBadge } from '../../components/anchor-badge.ts';
import { EmptyState } from '../../components/empty-state.ts';
import { Lazy } from '../../components/lazy.ts';
import { Loadable } from '../../components/loadable.ts';
import { numberText } from '../../components/number-text.ts';
import { PageHead } from '../../components/page-head.ts';
import { Tabs } from '../../components/tabs.ts';
import { ask } from '../../data/service.ts';
import { useData } from '../../data/use-data.ts';
import { html } from '../../html.ts';
import { hrefOf, type PageRoute } from '../../shell/route.ts';
import { FirstRecords } from './first-records.ts';
import type { TabProps } from './tab-props.ts';

interface CollectionTab {
  /** Third segment of its addresses. */
  name: string;
  label: string;
  /** Whether it has something to show while the collection is empty. */
  isForEmpty: boolean;
  load(): Promise<{ default: FunctionComponent<TabProps> }>;
}

/** Every tab, in order. The first is where a collection opens. */
const TABS: readonly CollectionTab[] = [
  { name: 'query', label: 'Query', isForEmpty: false, load: () => import('./query/query-tab.ts') },
  { name: 'browse', label: 'Browse', isForEmpty: false, load: () => import('./browse/browse-tab.ts') },
  { name: 'map', label: 'Map', isForEmpty: false, load: () => import('./map/map-tab.ts') },
  { name: 'trust', label: 'Trust', isForEmpty: true, load: () => import('./trust/trust-tab.ts') },
  { name: 'memory', label: 'Memory', isForEmpty: true, load: () => import('./memory/memory-tab.ts') },
  {
    name: 'transfer',
    label: 'Import & export',
    isForEmpty: true,
    load: () => import('./transfer/transfer-tab.ts'),
  },
  { name: 'settings', label: 'Settings', isForEmpty: true, load: () => import('./settings/settings-tab.ts') },
];

/** One collection: its head and its tabs. */
export default function CollectionPage({ name, route }: { name: string; route: PageRoute }) {
  const loaded = useData((signal) => ask('getCollection', { path: { name } }, signal), [name]);
  const show = ({ collection }: Api.GetCollectionResult) =>
    html`<${OpenCollection} collection=${collection} route=${route} reload=${loaded.reload} />`;
  return html`<${Loadable} from=${loaded} what="the collection" isPage show=${show} />`;
}

const METRIC_NAMES = { cosine: 'cosine', euclidean: 'euclidean', dot: 'dot product' } as const;

function OpenCollection({ collection, route, reload }: TabProps) {
  const { name, vector_count: count, dimensions, metric, shards, anchor } = collection;
  const current = TABS.find((tab) => tab.name === (route.path[2] ?? TABS[0]!.name));
  const about = html`<span>${numberText.count(count, 'vector')}</span>
    <span>${numberText.count(dimensions, 'dimension')}</span>
    <span>${METRIC_NAMES[metric]}</span>
    ${shards > 1 && html`<span>${numberText.count(shards, 'shard')}</span>`}
    <a href=${hrefOf(['collections', name, 'trust'])}><${AnchorBadge} state=${anchor.status} /></a>`;
  const tabs = TABS.map((tab) => ({ ...tab, href: hrefOf(['collections', name, tab.name]) }));
  return html`<${PageHead} title=${name} about=${about} above=${[{ label: 'Collections', href: hrefOf(['collections']) }]} />
    <${Tabs} label="Parts of the collection" current=${current?.name ?? ''} tabs=${tabs} />
    <${CurrentTab} tab=${current} collection=${collection} route=${route} reload=${reload} />`;
}

function CurrentTab({ tab, ...props }: TabProps & { tab: CollectionTab | undefined }) {
  if (tab === undefined) return html`<${EmptyState} title="A collection has no such part" />`;
  if (props.collection.vector_count === 0 && !tab.isForEmpty) return html`<${FirstRecords} ...${props} />`;
  return html`<${Lazy} key=${tab.name} load=${tab.load} props=${props} />`;
}
