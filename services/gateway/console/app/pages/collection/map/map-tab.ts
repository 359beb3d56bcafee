import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { EmptyState } from '../../../components/empty-state.ts';
import { ErrorState } from '../../../components/error-state.ts';
import { Select } from '../../../components/select.ts';
import { useSettled } from '../../../data/use-settled.ts';
import { type Task, useTask } from '../../../data/use-task.ts';
import { html } from '../../../html.ts';
import { FilterField } from '../filter-field.ts';
import { NamespaceField } from '../namespace-field.ts';
import type { TabProps } from '../tab-props.ts';
import { useFilter } from '../use-filter.ts';
import { MapProgress, type MapStep } from './map-progress.ts';
import type { Plane, PlaneMethod } from './plane.ts';
import { projected } from './projection.ts';
import { readSample, type Sample, type SampleWish } from './sample.ts';
import { SampledMap } from './sampled-map.ts';

const STYLE = new URL('./map.css', import.meta.url).href;
const METHODS: Readonly<Record<PlaneMethod, string>> = {
  principal: 'Principal components',
  random: 'A random plane',
};

/** The records of a collection as points: those with similar vectors lie close together. */
export default function MapTab({ collection }: TabProps) {
  const [namespace, setNamespace] = useState('');
  const [method, setMethod] = useState<PlaneMethod>('principal');
  const filter = useFilter(collection.name, namespace);
  const wanted = useSettled(JSON.stringify({ namespace, filter: filter.filter }));
  const task = useTask<MapStep, Sample>(
    (signal, report) =>
      readSample(
        collection,
        JSON.parse(wanted) as SampleWish,
        (done, of) => report({ kind: 'reading', done, of }),
        signal,
      ),
    [collection.name, wanted],
  );
  return html`<link rel="stylesheet" href=${STYLE} />
    <form class="card map-form" onSubmit=${(event: Event) => event.preventDefault()}>
      <${NamespaceField} collection=${collection.name} value=${namespace} onInput=${setNamespace} />
      <${Select} label="Axes" value=${method} options=${METHODS} onChange=${setMethod} />
      <${FilterField} written=${filter} />
    </form>
    <${TaskStates} task=${task}>
      ${
        task.now.state === 'ready' &&
        html`<${ProjectedSample}
          collection=${collection}
          namespace=${(JSON.parse(wanted) as SampleWish).namespace}
          sample=${task.now.value}
          method=${method}
        />`
      }
    <//>`;
}

interface ProjectedSampleProps {
  collection: Api.CollectionDetail;
  namespace: string;
  sample: Sample;
  method: PlaneMethod;
}

function ProjectedSample({ collection, namespace, sample, method }: ProjectedSampleProps) {
  const { dimensions, metric } = collection;
  const task = useTask<MapStep, Plane>(
    (signal, report) => {
      const request = { values: sample.values, dimensions, method, isNormalised: metric === 'cosine' };
      return projected(request, (share) => report({ kind: 'projecting', share }), signal);
    },
    [sample, method],
  );
  if (sample.records.length === 0)
    return html`<${EmptyState} title="No such records"><p>Change the namespace or the filter.</p><//>`;
  return html`<${TaskStates} task=${task}>
    ${
      task.now.state === 'ready' &&
      html`<${SampledMap} collection=${collection} namespace=${namespace} sample=${sample} plane=${task.now.value} />`
    }
  <//>`;
}

/** Shows how far a run is, that it was cancelled or failed, or what it made. */
function TaskStates({ task: { now, cancel, again }, children }: { task: Task<MapStep, unknown>; children: unknown }) {
  if (now.state === 'running') return html`<${MapProgress} step=${now.progress} onCancel=${cancel} />`;
  if (now.state === 'failed') return html`<${ErrorState} failure=${now.failure} onRetry=${again} />`;
  if (now.state === 'cancelled')
    return html`<${EmptyState} title="Cancelled"><${Button} onClick=${again}>Load the map<//><//>`;
  return children;
}
