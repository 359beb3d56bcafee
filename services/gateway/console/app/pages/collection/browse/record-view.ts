import type * as Api from '../../../../../../../client/api/generated.ts';
import { CopyButton } from '../../../components/copy-button.ts';
import { EmptyState } from '../../../components/empty-state.ts';
import { JsonView } from '../../../components/json-view.ts';
import { Loadable } from '../../../components/loadable.ts';
import { VectorStrip } from '../../../components/vector-strip.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { ask } from '../../../data/service.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';
import { hrefOf } from '../../../shell/route.ts';
import { Neighbours } from './neighbours.ts';
import type { RecordPlace } from './record-place.ts';
import { RecordProofCard } from './record-proof-card.ts';

/** One record: what it holds, what is near it, and the proof that it is there. */
export function RecordView(place: RecordPlace) {
  const { collection, id, namespace } = place;
  const body = { ids: [id], ...(namespace !== '' && { namespace }) };
  const loaded = useData(
    async (signal) => {
      const { vectors } = await ask('fetchVectors', { path: { name: collection.name }, body }, signal);
      return Object.values(vectors)[0] ?? null;
    },
    [collection.name, id, namespace],
  );
  const back = hrefOf(['collections', collection.name, 'browse'], namespace === '' ? {} : { namespace });
  const show = (record: Api.StoredRecord | null) =>
    record === null ? html`<${Absent} />` : html`<${RecordContent} ...${place} record=${record} />`;
  return html`<section class="record">
    <a class="back" href=${back}>← All records</a>
    <h2 class="record-id">
      ${namespace !== '' && html`<span class="namespace"><${VisibleText} value=${namespace} max=${80} /></span>`}
      <${VisibleText} value=${id} max=${120} /><${CopyButton} text=${id} what="the id" />
    </h2>
    <div class="split split-even">
      <div><${Loadable} from=${loaded} what="the record" show=${show} /></div>
      <div>
        <${RecordProofCard} ...${place} record=${loaded.data.state === 'ready' ? loaded.data.value : null} />
        <${Neighbours} ...${place} />
      </div>
    </div>
  </section>`;
}

function Absent() {
  return html`<${EmptyState} title="There is no such record">
    <p>It was deleted, or it never was. The proof beside shows that it is absent.</p>
  <//>`;
}

function RecordContent({ record }: RecordPlace & { record: Api.StoredRecord }) {
  const { metadata, values } = record;
  return html`<div class="card">
      <h3>Metadata</h3>
      ${
        Object.keys(metadata).length === 0
          ? html`<p class="muted">None.</p>`
          : html`<${JsonView} value=${metadata} label="Metadata" />`
      }
    </div>
    <div class="card">
      <h3>Vector <${CopyButton} text=${JSON.stringify(values)} what="the vector" /></h3>
      <${VectorStrip} values=${values} />
      <p class="hint">${values.length} numbers, from ${Math.min(...values).toPrecision(3)} to ${Math.max(...values).toPrecision(3)}.</p>
    </div>`;
}
