import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { Checkbox } from '../../../components/checkbox.ts';
import { TextInput } from '../../../components/text-input.ts';
import { html } from '../../../html.ts';
import { FilterField } from '../filter-field.ts';
import { NamespaceField } from '../namespace-field.ts';
import type { WrittenFilter } from '../use-filter.ts';
import type { ReadVector } from './read-vector.ts';

/** A query as it is written. */
export interface QueryDraft {
  by: 'id' | 'vector';
  id: string;
  vector: string;
  namespace: string;
  topK: string;
  isCompared: boolean;
}

interface QueryFormProps {
  collection: Api.CollectionDetail;
  draft: QueryDraft;
  change(part: Partial<QueryDraft>): void;
  filter: WrittenFilter;
  vector: ReadVector;
  canRun: boolean;
  isBusy: boolean;
  onRun(): void;
}

const TOP_K_MAX = 10_000;

/** Takes what a query looks for. */
export function QueryForm(props: QueryFormProps) {
  const { collection, draft, change, filter, canRun, isBusy, onRun } = props;
  const submit = (event: Event) => {
    event.preventDefault();
    if (canRun) onRun();
  };
  return html`<form class="card query-form" onSubmit=${submit}>
    <h2>Find what is near</h2>
    <div class="segments" role="group" aria-label="Near what">
      ${(['id', 'vector'] as const).map(
        (
          by,
        ) => html`<button type="button" aria-pressed=${draft.by === by ? 'true' : 'false'} onClick=${() => change({ by })}>
          ${by === 'id' ? 'A record' : 'A vector'}
        </button>`,
      )}
    </div>
    <${Target} ...${props} />
    <${FilterField} written=${filter} />
    <div class="field-row">
      <${TextInput} label="Matches" type="number" min=${1} max=${TOP_K_MAX} value=${draft.topK}
        onInput=${(topK: string) => change({ topK })} />
      <${NamespaceField} collection=${collection.name} value=${draft.namespace}
        onInput=${(namespace: string) => change({ namespace })} />
    </div>
    <${Checkbox} label="Measure recall" hint="Also compares with every record, and counts what the index missed."
      checked=${draft.isCompared} onChange=${(isCompared: boolean) => change({ isCompared })} />
    <${Button} kind="primary" type="submit" disabled=${!canRun} isBusy=${isBusy}>Run the query<//>
  </form>`;
}

function Target({ collection, draft, change, vector }: QueryFormProps) {
  if (draft.by === 'id')
    return html`<${TextInput} label="Id" value=${draft.id} onInput=${(id: string) => change({ id })}
      hint="The records most like this one." />`;
  return html`<${TextInput} label="Vector" isCode rows=${4} value=${draft.vector}
    onInput=${(text: string) => change({ vector: text })} placeholder="[0.12, -0.03, …]"
    hint=${`${collection.dimensions} numbers, as JSON or between commas or spaces.`}
    error=${draft.vector === '' ? null : vector.fault} />`;
}
