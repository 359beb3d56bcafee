import { useState } from 'preact/hooks';
import { Button } from '../../../components/button.ts';
import { CopyButton } from '../../../components/copy-button.ts';
import { numberText } from '../../../components/number-text.ts';
import { Time } from '../../../components/time.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { useSession } from '../../../data/session.ts';
import { html } from '../../../html.ts';
import type { TabProps } from '../tab-props.ts';
import { AliasCard } from './alias-card.ts';
import { DeleteDialog } from './delete-dialog.ts';
import { PlanCard } from './plan-card.ts';
import { ProtectionCard } from './protection-card.ts';
import { TagsCard } from './tags-card.ts';

const METRICS = { cosine: 'Cosine', euclidean: 'Euclidean', dot: 'Dot product' } as const;
const PRECISIONS = { bf16: 'bf16, half size', f32: 'f32, exact', f16: 'f16, half size', i8: 'i8, quarter size' };

/** What can be changed of a collection, and what was decided when it was created. */
export default function SettingsTab(props: TabProps) {
  const { collection, reload } = props;
  const { scopes } = useSession();
  return html`${!scopes.manage && html`<p class="hint read-only">This key may look at the settings, and not change them.</p>`}
    <div class="split split-even">
      <${FixedCard} ...${props} />
      <${PlanCard} version=${collection.version} />
    </div>
    <${AliasCard} collection=${collection.name} mayChange=${scopes.manage} />
    <${TagsCard} collection=${collection} reload=${reload} mayChange=${scopes.manage} />
    <${ProtectionCard} collection=${collection} reload=${reload} mayChange=${scopes.manage} />
    ${scopes.manage && html`<${DeletionCard} ...${props} />`}`;
}

function FixedCard({ collection }: TabProps) {
  const { id, dimensions, metric, shards, replicas, quantization, created_at: created, place } = collection;
  const facts: readonly (readonly [name: string, value: unknown])[] = [
    ['Dimensions', numberText.whole(dimensions)],
    ['Metric', METRICS[metric]],
    ['Shards', numberText.whole(shards)],
    ['Copies of each shard', replicas === 0 ? 'none' : numberText.whole(replicas)],
    ['Index precision', PRECISIONS[quantization]],
    ['Created', html`<${Time} at=${created} />`],
    ['Id', html`<code>${id}</code> <${CopyButton} text=${id} what="the id" />`],
  ];
  const where = [place?.cloud, place?.region].filter((part) => part !== undefined).join(' ');
  return html`<section class="card">
    <h2>Decided at its creation</h2>
    <dl class="facts">
      ${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}
      ${where !== '' && html`<dt>Place</dt><dd><${VisibleText} value=${where} /></dd>`}
    </dl>
  </section>`;
}

function DeletionCard({ collection }: TabProps) {
  const [isDeleting, setDeleting] = useState(false);
  return html`<section class="card">
    <div class="card-head">
      <div>
        <h2>Delete this collection</h2>
        <p class="muted">Deletes its records, and closes its account on the ledger. It cannot be undone.</p>
      </div>
      <${Button} onClick=${() => setDeleting(true)}>Delete…<//>
    </div>
    ${isDeleting && html`<${DeleteDialog} collection=${collection} onClose=${() => setDeleting(false)} />`}
  </section>`;
}
