import { useMemo, useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { numberText } from '../../../components/number-text.ts';
import { Select } from '../../../components/select.ts';
import { type Column, Table } from '../../../components/table.ts';
import { html } from '../../../html.ts';
import { goTo, hrefOf } from '../../../shell/route.ts';
import { RecordLink } from '../record-link.ts';
import { ValueText } from '../value-text.ts';
import { visibleName } from '../visible-name.ts';
import { colouringBy, fieldsOf, firstField } from './colouring.ts';
import { MapCanvas } from './map-canvas.ts';
import { MapLegend } from './map-legend.ts';
import { MapSelection } from './map-selection.ts';
import type { Plane } from './plane.ts';
import type { Sample } from './sample.ts';
import type { SampleRecord } from './sample-record.ts';

interface SampledMapProps {
  collection: Api.CollectionDetail;
  namespace: string;
  sample: Sample;
  plane: Plane;
}

/** A sample as a map, with its legend, its selection, and all of it as a list. */
export function SampledMap({ collection: { name }, namespace, sample, plane }: SampledMapProps) {
  const { records } = sample;
  const fields = useMemo(() => fieldsOf(records), [records]);
  const [field, setField] = useState(() => firstField(fields));
  const [members, setMembers] = useState<readonly number[]>([]);
  const colouring = useMemo(() => colouringBy(field, records), [field, records]);
  const selected = useMemo(() => new Set(members), [members]);
  const content = useMemo(() => ({ points: plane.points, colouring, selected }), [plane, colouring, selected]);
  const options = Object.fromEntries([
    ['', 'One colour'],
    ...[...fields.keys()].map((one) => [`.${one}`, visibleName(one)]),
  ]);
  const open = (at: number) =>
    goTo(hrefOf(['collections', name, 'browse'], { ...(namespace && { namespace }), record: records[at]!.id }));
  return html`<div class="map-split">
    <div>
      <${MapCanvas} content=${content} records=${records} field=${field} onOpen=${open} onSelect=${setMembers} />
      <${MapSummary} sample=${sample} plane=${plane} />
      <details class="numbers">
        <summary>The records as a list</summary>
        <${SampleTable} collection=${name} namespace=${namespace} records=${records} field=${field} />
      </details>
    </div>
    <div>
      <section class="card">
        <${Select} label="Colour by" value=${field === '' ? '' : `.${field}`} options=${options}
          onChange=${(chosen: string) => setField(chosen.slice(1))} />
        <${MapLegend} colouring=${colouring} />
      </section>
      <${MapSelection} collection=${name} namespace=${namespace} field=${field}
        records=${members.map((at) => records[at]!)} onClear=${() => setMembers([])} />
    </div>
  </div>`;
}

/** What the map shows, in words. */
function MapSummary({ sample: { records, total }, plane: { shares } }: { sample: Sample; plane: Plane }) {
  const isAll = records.length === total;
  return html`<p class="hint map-summary">
    ${
      isAll
        ? `All ${numberText.count(total, 'record')}.`
        : `${numberText.whole(records.length)} of ${numberText.count(total, 'record')}: the first in the order of their ids. A filter chooses others.`
    }
    ${' '}The plane shows ${numberText.percent(shares[0] + shares[1])} of the variance of their vectors: ${numberText.percent(shares[0])} along
    one axis and ${numberText.percent(shares[1])} along the other.
  </p>`;
}

interface SampleTableProps {
  collection: string;
  namespace: string;
  records: readonly SampleRecord[];
  field: string;
}

function SampleTable({ collection, namespace, records, field }: SampleTableProps) {
  const columns: Column<SampleRecord>[] = [
    { title: 'Id', cell: ({ id }) => html`<${RecordLink} collection=${collection} namespace=${namespace} id=${id} />` },
  ];
  if (field !== '')
    columns.push({
      title: visibleName(field),
      isWide: true,
      cell: ({ fields }) => html`<${ValueText} value=${fields.get(field)} />`,
    });
  return html`<${Table} label="Records of the map" columns=${columns} rows=${records} keyOf=${({ id }: SampleRecord) => id} />`;
}
