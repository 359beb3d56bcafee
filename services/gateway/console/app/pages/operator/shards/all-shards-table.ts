import type * as Api from '../../../../../../../client/api/generated.ts';
import { Badge, type Tone } from '../../../components/badge.ts';
import { Button } from '../../../components/button.ts';
import { numberText } from '../../../components/number-text.ts';
import { type Column, Table } from '../../../components/table.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { html } from '../../../html.ts';
import { CollectionName } from '../collection-name.ts';

type Shard = Api.Shard;

const STATES: Readonly<Record<Shard['state'], readonly [tone: Tone, text: string, meaning: string]>> = {
  open: ['good', 'Open', 'In memory.'],
  closed: ['neutral', 'Closed', 'Held by a node, and not in memory until it is next used.'],
  unclaimed: ['waiting', 'No holder', 'A node takes it when it is next used.'],
  unreachable: ['bad', 'Unreachable', 'The node that holds it does not answer.'],
};

const none = html`<span class="muted">–</span>`;

/** Returns the parts of `<collection id>.<index>`. */
function partsOf(shard: string): readonly [collectionId: string, index: string] {
  const at = shard.lastIndexOf('.');
  return [shard.slice(0, at), shard.slice(at + 1)];
}

function Followers({ followers }: Shard) {
  if (followers.length === 0) return none;
  return followers.map(
    ({ node, lag }) => html`<div>
      <${VisibleText} value=${node} max=${40} />${' '}
      <span class="muted">${lag === null ? 'unknown' : lag === 0 ? 'up to date' : `${numberText.count(lag, 'commit')} behind`}</span>
    </div>`,
  );
}

const COLUMNS: readonly Column<Shard>[] = [
  {
    title: 'Collection',
    cell: ({ collection, shard }) => html`<${CollectionName} name=${collection} id=${partsOf(shard)[0]} />`,
  },
  { title: 'Shard', isNumber: true, cell: ({ shard }) => partsOf(shard)[1] },
  {
    title: 'State',
    cell: ({ state }) => {
      const [tone, text, meaning] = STATES[state];
      return html`<span title=${meaning}><${Badge} tone=${tone}>${text}<//></span>`;
    },
  },
  {
    title: 'Holder',
    isExtra: true,
    cell: ({ node }) => (node === null ? none : html`<${VisibleText} value=${node} max=${40} />`),
  },
  { title: 'Records', isNumber: true, isExtra: true, cell: ({ records }) => numberText.whole(records) },
  {
    title: 'Memory',
    isNumber: true,
    isExtra: true,
    cell: ({ bytes }) => (bytes === null ? none : numberText.bytes(bytes)),
  },
  { title: 'Copies', isExtra: true, cell: (shard) => html`<${Followers} ...${shard} />` },
  { title: 'Takes', isNumber: true, isExtra: true, cell: ({ epoch }) => numberText.whole(epoch) },
];

interface AllShardsTableProps {
  shards: readonly Shard[];
  onMove(shard: Shard): void;
}

/** Shards of any account, each with its holder. */
export function AllShardsTable({ shards, onMove }: AllShardsTableProps) {
  const actions: Column<Shard> = {
    title: 'Actions',
    isNumber: true,
    cell: (shard) =>
      html`<${Button} kind="quiet" label=${`Move shard ${partsOf(shard.shard)[1]} of ${shard.collection}`}
        onClick=${() => onMove(shard)}>Move…<//>`,
  };
  return html`<${Table} label="Shards" columns=${[...COLUMNS, actions]} rows=${shards}
      keyOf=${({ shard }: Shard) => shard} />
    <p class="hint table-hint">Takes: how often a node took the shard, after a move, a restart or a failure.</p>`;
}
