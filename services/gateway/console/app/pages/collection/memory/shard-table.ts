import type * as Api from '../../../../../../../client/api/generated.ts';
import { Badge, type Tone } from '../../../components/badge.ts';
import { numberText } from '../../../components/number-text.ts';
import { StackedBar } from '../../../components/stacked-bar.ts';
import { type Column, Table } from '../../../components/table.ts';
import { html } from '../../../html.ts';
import { MEMORY_PARTS, partSizes } from './memory-parts.ts';

type Shard = Api.ShardMemory;

const STATES: Readonly<Record<Shard['state'], readonly [tone: Tone, text: string, meaning: string]>> = {
  open: ['good', 'Open', 'In memory.'],
  closed: ['neutral', 'Closed', 'Not in memory until it is next used.'],
  unreachable: ['bad', 'Unreachable', 'Its node does not answer.'],
};

const none = html`<span class="muted">none</span>`;
const textOf = (value: number | null, write: (value: number) => string) => (value === null ? none : write(value));

const STATE: Column<Shard> = {
  title: 'State',
  cell: ({ state }) => {
    const [tone, text, meaning] = STATES[state];
    return html`<span title=${meaning}><${Badge} tone=${tone}>${text}<//></span>`;
  },
};
const NUMBER: Column<Shard> = { title: 'Shard', isNumber: true, cell: ({ shard }) => numberText.whole(shard) };
const keyOf = ({ shard }: Shard): string => `${shard}`;

/** Each shard with what it holds; the longest bar is the largest shard. */
export function ShardTable({ shards }: { shards: readonly Shard[] }) {
  const largest = Math.max(...shards.map(({ bytes }) => bytes ?? 0));
  const columns: readonly Column<Shard>[] = [
    NUMBER,
    STATE,
    {
      title: 'Memory',
      isWide: true,
      cell: (shard) =>
        shard.bytes === null
          ? none
          : html`<span class="shard-memory">
              <${StackedBar} values=${partSizes(shard)} whole=${largest} /> ${numberText.bytes(shard.bytes)}
            </span>`,
    },
    { title: 'Records', isNumber: true, cell: ({ records }) => textOf(records, numberText.whole) },
    {
      title: 'Not indexed',
      isNumber: true,
      isExtra: true,
      cell: ({ unindexed }) => textOf(unindexed, numberText.whole),
    },
    { title: 'Log', isNumber: true, isExtra: true, cell: ({ logBytes }) => textOf(logBytes, numberText.bytes) },
    { title: 'Checkpoint', isNumber: true, isExtra: true, cell: (shard) => numberText.bytes(shard.checkpointBytes) },
  ];
  return html`<section class="card">
    <h2>By shard</h2>
    <${Table} label="Memory by shard" columns=${columns} rows=${shards} keyOf=${keyOf} />
    ${largest > 0 && html`<${PartsOfShards} shards=${shards.filter(({ parts }) => parts !== undefined)} />`}
  </section>`;
}

/** The bars in numbers. */
function PartsOfShards({ shards }: { shards: readonly Shard[] }) {
  const columns: readonly Column<Shard>[] = [
    NUMBER,
    ...MEMORY_PARTS.map(([name, label]) => ({
      title: label,
      isNumber: true,
      cell: ({ parts }: Shard) => numberText.bytes(parts?.[name] ?? 0),
    })),
  ];
  return html`<details class="numbers">
    <summary>Parts of each shard in numbers</summary>
    <${Table} label="Parts of each shard" columns=${columns} rows=${shards} keyOf=${keyOf} />
  </details>`;
}
