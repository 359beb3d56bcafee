import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { Loadable } from '../../../components/loadable.ts';
import { numberText } from '../../../components/number-text.ts';
import { PartKey, StackedBar } from '../../../components/stacked-bar.ts';
import { type Column, Table } from '../../../components/table.ts';
import { ask } from '../../../data/service.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';
import type { TabProps } from '../tab-props.ts';
import { MEMORY_PARTS, partSizes } from './memory-parts.ts';
import { ShardTable } from './shard-table.ts';

/** What holds how much memory and disk, by part and by shard. */
export default function MemoryTab({ collection: { name, version } }: TabProps) {
  const memory = useData((signal) => ask('getMemory', { path: { name } }, signal), [name, version]);
  const show = ({ bytes, shards }: Api.GetMemoryResult) => html`<section class="card">
      <div class="card-head"><h2>In memory</h2><${Button} onClick=${memory.reload}>Refresh<//></div>
      <${Figures} bytes=${bytes} shards=${shards} />
      ${bytes === 0 ? html`<${NothingOpen} />` : html`<${Parts} bytes=${bytes} shards=${shards} />`}
    </section>
    <${ShardTable} shards=${shards} />`;
  return html`<${Loadable} from=${memory} what="the memory" show=${show} />`;
}

/** Returns the sum of a number over all shards that have it. */
const sumOf = (shards: readonly Api.ShardMemory[], name: 'unindexed' | 'logBytes' | 'checkpointBytes'): number =>
  shards.reduce((sum, shard) => sum + (shard[name] ?? 0), 0);

function Figures({ bytes, shards }: Api.GetMemoryResult) {
  const open = shards.filter(({ state }) => state === 'open').length;
  const waiting = sumOf(shards, 'unindexed');
  const figures: readonly (readonly [title: string, value: string])[] = [
    ['Memory', numberText.bytes(bytes)],
    ['Open shards', `${numberText.whole(open)} of ${numberText.whole(shards.length)}`],
    ['Not indexed yet', numberText.count(waiting, 'record')],
    ['Log to replay', numberText.bytes(sumOf(shards, 'logBytes'))],
    ['Checkpoints on disk', numberText.bytes(sumOf(shards, 'checkpointBytes'))],
  ];
  return html`<dl class="figures">
    ${figures.map(([title, value]) => html`<div><dt>${title}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

function NothingOpen() {
  return html`<p class="muted">No shard is open, so the collection takes no memory. The next query or write opens what it needs.</p>`;
}

interface Part {
  at: number;
  bytes: number;
}

function Parts({ bytes, shards }: Api.GetMemoryResult) {
  const sizes = MEMORY_PARTS.map((_, at) => shards.reduce((sum, shard) => sum + partSizes(shard)[at]!, 0));
  const columns: readonly Column<Part>[] = [
    {
      title: 'Part',
      cell: ({ at }) => html`<span class="part-name"><${PartKey} at=${at} />${MEMORY_PARTS[at]![1]}</span>`,
    },
    { title: 'What it is', isExtra: true, cell: ({ at }) => html`<span class="muted">${MEMORY_PARTS[at]![2]}</span>` },
    { title: 'Memory', isNumber: true, cell: (part) => numberText.bytes(part.bytes) },
    { title: 'Share', isNumber: true, cell: (part) => numberText.percent(part.bytes / bytes) },
  ];
  return html`<${StackedBar} values=${sizes} whole=${bytes} isTall />
    <${Table} label="Memory by part" columns=${columns} rows=${sizes.map((size, at) => ({ at, bytes: size }))}
      keyOf=${({ at }: Part) => `${at}`} />`;
}
