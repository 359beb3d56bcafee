import type * as Api from '../../../../../../../client/api/generated.ts';
import { Badge, type Tone } from '../../../components/badge.ts';
import { Bar } from '../../../components/bar.ts';
import { Button } from '../../../components/button.ts';
import { durationText } from '../../../components/duration-text.ts';
import { numberText } from '../../../components/number-text.ts';
import { type Column, Table } from '../../../components/table.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { html } from '../../../html.ts';

type Node = Api.ShardNode;

function stateOf({ error, lease, draining }: Node): readonly [tone: Tone, text: string, meaning: string] {
  if (error !== null) return ['bad', 'No answer', error];
  if (draining) return ['waiting', 'Drained', 'It takes no shards until it restarts.'];
  if (!lease) return ['bad', 'No lease', 'It serves no shards. See whether it reaches the store.'];
  return ['good', 'Serving', 'It holds and serves shards.'];
}

const none = html`<span class="muted">–</span>`;
const numberOr = (value: number | null) => (value === null ? none : numberText.whole(value));

function Memory({ bytes, memoryLimitBytes: limit }: Node) {
  if (bytes === null || limit === null) return none;
  return html`<span class="score" title=${`of ${numberText.bytes(limit)}`}><${Bar} share=${bytes / limit} isFull=${bytes > 0.85 * limit} />
    ${numberText.bytes(bytes)}</span>`;
}

const COLUMNS: readonly Column<Node>[] = [
  {
    title: 'Node',
    cell: ({ node, version }) =>
      html`<span class="unbroken" title=${version === null ? undefined : `Provec ${version}`}><${VisibleText} value=${node} max=${60} /></span>`,
  },
  {
    title: 'State',
    cell: (node) => {
      const [tone, text, meaning] = stateOf(node);
      return html`<span title=${meaning}><${Badge} tone=${tone}>${text}<//></span>`;
    },
  },
  { title: 'Memory', cell: (node) => html`<${Memory} ...${node} />` },
  { title: 'Open shards', isNumber: true, isExtra: true, cell: ({ open }) => numberOr(open) },
  { title: 'Copies', isNumber: true, isExtra: true, cell: ({ copies }) => numberOr(copies) },
  { title: 'Waiting', isNumber: true, isExtra: true, cell: ({ queued }) => numberOr(queued) },
  {
    title: 'Up for',
    isExtra: true,
    cell: ({ uptimeSeconds }) =>
      uptimeSeconds === null ? none : html`<span class="unbroken">${durationText(uptimeSeconds)}</span>`,
  },
];

interface NodeTableProps {
  nodes: readonly Node[];
  /** Absent where nodes are only shown. */
  onDrain?: (node: Node) => void;
}

/** Nodes that hold shards. */
export function NodeTable({ nodes, onDrain }: NodeTableProps) {
  const drain: Column<Node> = {
    title: 'Actions',
    isNumber: true,
    cell: (node) =>
      html`<${Button} kind="quiet" label=${`Drain ${node.node}`} onClick=${() => onDrain?.(node)}>Drain…<//>`,
  };
  return html`<${Table} label="Nodes with shards" columns=${onDrain === undefined ? COLUMNS : [...COLUMNS, drain]}
    rows=${nodes} keyOf=${({ node }: Node) => node} />`;
}
