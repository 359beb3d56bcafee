import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { Dialog } from '../../../components/dialog.ts';
import { DialogFoot } from '../../../components/dialog-foot.ts';
import { Loadable } from '../../../components/loadable.ts';
import { Notice } from '../../../components/notice.ts';
import { numberText } from '../../../components/number-text.ts';
import { Select } from '../../../components/select.ts';
import { announce } from '../../../components/toast.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { useAction } from '../../../data/use-action.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';

interface MoveDialogProps {
  shard: Api.Shard;
  onClose(): void;
  onMoved(): void;
}

/** Gives a shard to another node. */
export function MoveDialog({ shard, onClose, onMoved }: MoveDialogProps) {
  const nodes = useData((signal) => askOperator('listNodes', {}, signal), []);
  const show = ({ shardNodes }: Api.ListNodesResult) => {
    const able = shardNodes.filter(
      ({ node, lease, draining, error }) => node !== shard.node && lease && !draining && error === null,
    );
    if (able.length > 0)
      return html`<${MoveForm} shard=${shard} nodes=${able} onClose=${onClose} onMoved=${onMoved} />`;
    return html`<${Notice} tone="waiting">No other node can take the shard: it would need a lease, and must not be drained.<//>
      <div class="dialog-foot"><${Button} onClick=${onClose}>Close<//></div>`;
  };
  const index = shard.shard.slice(shard.shard.lastIndexOf('.') + 1);
  const records = numberText.count(shard.records, 'record');
  const holder =
    shard.node === null ? 'which no node holds' : html`held by <strong><${VisibleText} value=${shard.node} /></strong>`;
  return html`<${Dialog} title="Move a shard" onClose=${onClose}>
    <p>
      Shard ${index} of <strong><${VisibleText} value=${shard.collection} /></strong>, with ${records}, ${holder}.
    </p>
    <${Loadable} from=${nodes} what="the nodes" show=${show} />
  <//>`;
}

function MoveForm({ shard, nodes, onClose, onMoved }: MoveDialogProps & { nodes: readonly Api.ShardNode[] }) {
  const [target, setTarget] = useState(nodes[0]!.node);
  const move = useAction(async (signal) => {
    const { node } = await askOperator('moveShard', { path: { shard: shard.shard }, body: { node: target } }, signal);
    announce(`${node} holds the shard.`, 'good');
    onClose();
    onMoved();
  });
  const submit = (event: Event) => {
    event.preventDefault();
    move.run();
  };
  const options = Object.fromEntries(
    nodes.map(({ node, bytes }) => [node, `${node} (${numberText.bytes(bytes ?? 0)})`]),
  );
  return html`<form onSubmit=${submit}>
    <${Select} label="To" value=${target} options=${options} onChange=${setTarget}
      hint="Reads and writes of this shard wait while it moves." />
    <${DialogFoot} act="Move the shard" action=${move} onClose=${onClose} />
  </form>`;
}
