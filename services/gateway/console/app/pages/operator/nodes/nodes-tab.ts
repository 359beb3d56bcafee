import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Badge } from '../../../components/badge.ts';
import { Button } from '../../../components/button.ts';
import { durationText } from '../../../components/duration-text.ts';
import { Loadable } from '../../../components/loadable.ts';
import { numberText } from '../../../components/number-text.ts';
import { type Column, Table } from '../../../components/table.ts';
import { announce } from '../../../components/toast.ts';
import { TypedConfirmation } from '../../../components/typed-confirmation.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';
import { NodeTable } from './node-table.ts';

const OTHERS: readonly Column<Api.OtherNode>[] = [
  { title: 'Node', cell: ({ node }) => html`<${VisibleText} value=${node} max=${60} />` },
  {
    title: 'State',
    cell: ({ available }) =>
      html`<${Badge} tone=${available ? 'good' : 'bad'}>${available ? 'Serving' : 'No answer'}<//>`,
  },
  { title: 'Services', isExtra: true, cell: ({ services }) => services.join(', ') },
  {
    title: 'Up for',
    isExtra: true,
    cell: ({ uptimeSeconds }) => (uptimeSeconds === null ? '–' : durationText(uptimeSeconds)),
  },
  { title: 'Version', isExtra: true, cell: ({ version }) => version ?? '–' },
];

/** The nodes of the service, and draining one. */
export default function NodesTab() {
  const [drained, setDrained] = useState<Api.ShardNode | null>(null);
  const nodes = useData((signal) => askOperator('listNodes', {}, signal), []);
  const show = ({ shardNodes, others, omitted }: Api.ListNodesResult) => html`<section class="card">
      <div class="card-head">
        <div><h2>With shards</h2><p class="muted">They hold the records, and answer queries.</p></div>
        <${Button} onClick=${nodes.reload}>Refresh<//>
      </div>
      <${NodeTable} nodes=${shardNodes} onDrain=${setDrained} />
      ${shardNodes.length === 1 && html`<p class="hint">This is the only node with shards, so they cannot move anywhere.</p>`}
    </section>
    ${
      others.length > 0 &&
      html`<section class="card">
        <div><h2>Others</h2><p class="muted">Gateways, and services that hold no shards.</p></div>
        <${Table} label="Other nodes" columns=${OTHERS} rows=${others} keyOf=${({ node }: Api.OtherNode) => node} />
      </section>`
    }
    ${omitted > 0 && html`<p class="hint">${numberText.count(omitted, 'more node')} not listed.</p>`}`;
  return html`<${Loadable} from=${nodes} what="the nodes" show=${show} />
    ${
      drained !== null &&
      html`<${DrainDialog} node=${drained} onClose=${() => setDrained(null)} onDrained=${nodes.reload} />`
    }`;
}

interface DrainDialogProps {
  node: Api.ShardNode;
  onClose(): void;
  onDrained(): void;
}

/** Moves all shards off a node, with as many requests as it takes. */
function DrainDialog({ node: { node, open }, onClose, onDrained }: DrainDialogProps) {
  const [left, setLeft] = useState<number | null>(null);
  const drain = async (signal: AbortSignal) => {
    let before = Number.POSITIVE_INFINITY;
    for (;;) {
      const answer = await askOperator('drainNode', { path: { node } }, signal);
      setLeft(answer.left);
      if (answer.left === 0) break;
      // Other nodes have no room, or the last request moved nothing for another reason.
      if (answer.left >= before) throw new Error(`${numberText.count(answer.left, 'shard')} did not move. Try again.`);
      before = answer.left;
    }
    announce(`${node} holds no shards.`, 'good');
    onClose();
    onDrained();
  };
  const close = () => {
    onClose();
    onDrained();
  };
  return html`<${TypedConfirmation} title=${`Drain ${node}`} phrase=${node} act="Drain the node" perform=${drain}
    onClose=${close}>
    <p>
      Its ${numberText.count(open ?? 0, 'open shard')} move to other nodes, while reads and writes wait for a moment. The
      node takes no shards until it restarts.
    </p>
    ${left !== null && html`<p role="status">${numberText.count(left, 'shard')} left.</p>`}
  <//>`;
}
