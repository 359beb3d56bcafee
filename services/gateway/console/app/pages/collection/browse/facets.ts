import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Bar } from '../../../components/bar.ts';
import { Loadable } from '../../../components/loadable.ts';
import { numberText } from '../../../components/number-text.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { ask } from '../../../data/service.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';
import { hasCondition, toggled } from '../filter-condition.ts';
import type { WrittenFilter } from '../use-filter.ts';
import { ValueText } from '../value-text.ts';

interface FacetsProps {
  collection: string;
  namespace: string;
  fields: readonly string[];
  written: WrittenFilter;
}

/** Values of a field that are listed. */
const VALUES = 10;
const NAME_MAX = 64;
const MISSING = { $exists: false };

/** The values of each field with their counts. A field is counted once the reader opens it. */
export function Facets({ fields, ...facet }: FacetsProps) {
  return html`<section class="card facets" aria-labelledby="facets-title">
    <h2 id="facets-title">Facets</h2>
    ${
      fields.length === 0
        ? html`<p class="hint">The records listed have no metadata.</p>`
        : html`<ul>${fields.map((field) => html`<li key=${field}><${Facet} ...${facet} field=${field} /></li>`)}</ul>
            <p class="hint">Opening a field counts as a query of the plan.</p>`
    }
  </section>`;
}

type FacetProps = Omit<FacetsProps, 'fields'> & { field: string };

function Facet(props: FacetProps) {
  const [isOpen, setOpen] = useState(false);
  const { field } = props;
  return html`<details open=${isOpen} onToggle=${(event: Event) => setOpen((event.target as HTMLDetailsElement).open)}>
    <summary><${VisibleText} value=${field.slice(0, NAME_MAX)} />${field.length > NAME_MAX && '…'}</summary>
    ${isOpen && html`<${FacetValues} ...${props} />`}
  </details>`;
}

function FacetValues({ collection, namespace, field, written }: FacetProps) {
  const { filter, text, fault } = written;
  // Without the field's own condition, the other values keep their counts.
  const wanted = JSON.stringify(Object.fromEntries(Object.entries(filter ?? {}).filter(([name]) => name !== field)));
  const loaded = useData(
    (signal) => {
      const body = { field, limit: VALUES, filter: JSON.parse(wanted) as Api.Filter, ...(namespace && { namespace }) };
      return ask('facetRecords', { path: { name: collection }, body }, signal);
    },
    [collection, namespace, field, wanted],
  );
  const isUsable = !field.startsWith('$') && fault === null && (filter !== undefined || text.trim() === '');
  const toggle = (condition: unknown) => {
    const next = toggled(filter, field, condition);
    written.setText(Object.keys(next).length === 0 ? '' : JSON.stringify(next));
  };
  const show = ({ values, missing }: Api.FacetRecordsResult) => {
    const most = Math.max(missing, ...values.map(({ count }) => count));
    const row = (condition: unknown, name: unknown, count: number) => html`<button
      type="button"
      class="facet-value"
      disabled=${!isUsable}
      aria-pressed=${hasCondition(filter, field, condition) ? 'true' : 'false'}
      onClick=${() => toggle(condition)}
    >
      <span class="facet-name">${name}</span>
      <span class="muted">${numberText.whole(count)}</span>
      <${Bar} share=${count / Math.max(1, most)} />
    </button>`;
    if (values.length === 0 && missing === 0) return html`<p class="hint">No records.</p>`;
    return html`${values.map(({ value, count }) => row(value, html`<${ValueText} value=${value} />`, count))}
      ${missing > 0 && row(MISSING, html`<span class="muted">No value</span>`, missing)}
      ${values.length === VALUES && html`<p class="hint">The ${VALUES} most frequent values.</p>`}`;
  };
  return html`<${Loadable} from=${loaded} what="the counts" show=${show} />`;
}
