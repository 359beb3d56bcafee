import { Button } from '../../../components/button.ts';
import { CopyButton } from '../../../components/copy-button.ts';
import { numberText } from '../../../components/number-text.ts';
import { html } from '../../../html.ts';
import { goTo, hrefOf } from '../../../shell/route.ts';
import { RecordLink } from '../record-link.ts';
import type { SampleRecord } from './sample-record.ts';
import { filterFor, VALUES_MAX } from './selection-filter.ts';

interface MapSelectionProps {
  collection: string;
  namespace: string;
  /** Field that colours the map; '' for none. */
  field: string;
  records: readonly SampleRecord[];
  onClear(): void;
}

/** Records that are listed one by one. */
const LISTED = 50;

/** The selected records, and ways on from them. */
export function MapSelection({ collection, namespace, field, records, onClear }: MapSelectionProps) {
  const filter = filterFor(field, records);
  const browse = () => {
    const query = { ...(namespace !== '' && { namespace }), filter: JSON.stringify(filter) };
    goTo(hrefOf(['collections', collection, 'browse'], query));
  };
  return html`<section class="card" aria-labelledby="map-selection">
    <div class="card-head">
      <h2 id="map-selection">Selected</h2>
      ${records.length > 0 && html`<${Button} kind="quiet" onClick=${onClear}>Clear<//>`}
    </div>
    <p aria-live="polite">
      ${
        records.length === 0
          ? html`<span class="hint">Draw a lasso around records, or select all in view.</span>`
          : html`${numberText.count(records.length, 'record')}
              ${' '}<${CopyButton} text=${JSON.stringify(records.map(({ id }) => id))} what="the ids" />`
      }
    </p>
    ${
      records.length > 0 &&
      html`<ol class="map-selected">
          ${records
            .slice(0, LISTED)
            .map(
              ({ id }) =>
                html`<li key=${id}><${RecordLink} collection=${collection} namespace=${namespace} id=${id} /></li>`,
            )}
        </ol>
        ${records.length > LISTED && html`<p class="hint">and ${numberText.whole(records.length - LISTED)} more</p>`}
        ${
          filter === null
            ? html`<p class="hint">Colour by a field that they have, with at most ${VALUES_MAX} values, to filter by it.</p>`
            : html`<${Button} onClick=${browse}>Filter by them in Browse<//>`
        }`
    }
  </section>`;
}
