import type * as Api from '../../../../../../client/api/generated.ts';
import { AnchorBadge } from '../../components/anchor-badge.ts';
import { Badge } from '../../components/badge.ts';
import { numberText } from '../../components/number-text.ts';
import { Sparkline } from '../../components/sparkline.ts';
import { type Column, Table } from '../../components/table.ts';
import { Time } from '../../components/time.ts';
import { ask } from '../../data/service.ts';
import { useData } from '../../data/use-data.ts';
import { useInSight } from '../../data/use-in-sight.ts';
import { html } from '../../html.ts';
import { hrefOf } from '../../shell/route.ts';

/** Anchors that the course of a collection's size is drawn from. */
const COURSE = 30;

/** What a row shows that the list itself does not say. */
async function detailsOf(name: string, signal: AbortSignal) {
  const [{ collection }, { anchors }] = await Promise.all([
    ask('getCollection', { path: { name } }, signal),
    ask('listAnchors', { path: { name }, query: { limit: COURSE } }, signal),
  ]);
  const sizes = anchors.map(({ vectorCount }) => vectorCount).reverse();
  return { state: collection.anchor.status, sizes };
}

/** Asks only once it is in sight: a page may have many rows. */
function AnchorCell({ name }: { name: string }) {
  const [element, wasInSight] = useInSight<HTMLSpanElement>();
  return html`<span ref=${element}>${wasInSight ? html`<${Anchoring} name=${name} />` : '…'}</span>`;
}

function Anchoring({ name }: { name: string }) {
  const { data } = useData((signal) => detailsOf(name, signal), [name]);
  if (data.state === 'loading') return html`<span class="muted">…</span>`;
  if (data.state === 'failed')
    return html`<span title=${data.failure.text}><${Badge} tone="neutral">Unknown<//></span>`;
  const { state, sizes } = data.value;
  return html`<span class="anchor-cell">
    <${AnchorBadge} state=${state} /><${Sparkline} values=${sizes} label=${`Vectors at the last ${sizes.length} anchors`} />
  </span>`;
}

const COLUMNS: readonly Column<Api.Collection>[] = [
  {
    title: 'Name',
    cell: ({ name }) => html`<a class="row-link" href=${hrefOf(['collections', name])}>${name}</a>`,
  },
  { title: 'Vectors', isNumber: true, cell: ({ vector_count }) => numberText.whole(vector_count) },
  { title: 'Dimensions', isNumber: true, isExtra: true, cell: ({ dimensions }) => numberText.whole(dimensions) },
  { title: 'Metric', isExtra: true, cell: ({ metric }) => metric },
  { title: 'Shards', isNumber: true, isExtra: true, cell: ({ shards }) => numberText.whole(shards) },
  { title: 'Created', isExtra: true, cell: ({ created_at }) => html`<${Time} at=${created_at} isDay />` },
  { title: 'Proof', cell: ({ name }) => html`<${AnchorCell} key=${name} name=${name} />` },
];

/** Collections with their sizes, and whether the ledger holds their roots. */
export function CollectionTable({ collections }: { collections: readonly Api.Collection[] }) {
  return html`<${Table}
    label="Collections"
    columns=${COLUMNS}
    rows=${collections}
    keyOf=${({ id }: Api.Collection) => id}
  />`;
}
