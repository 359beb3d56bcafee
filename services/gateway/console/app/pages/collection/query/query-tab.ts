import { useEffect, useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { CodeChoice } from '../../../components/code-block.ts';
import { EmptyState } from '../../../components/empty-state.ts';
import { ErrorState } from '../../../components/error-state.ts';
import { ask, SERVICE_URL } from '../../../data/service.ts';
import { useAction } from '../../../data/use-action.ts';
import { html } from '../../../html.ts';
import { requestCode } from '../request-code.ts';
import type { TabProps } from '../tab-props.ts';
import { useFilter } from '../use-filter.ts';
import { type QueryDraft, QueryForm } from './query-form.ts';
import { type QueryOutcome, QueryResults } from './query-results.ts';
import { readVector } from './read-vector.ts';

const NEW: QueryDraft = { by: 'id', id: '', vector: '', namespace: '', topK: '10', isCompared: true };

async function timed(collection: string, body: Api.Query, signal: AbortSignal) {
  const beganMs = performance.now();
  const { matches, warnings = [] } = await ask('queryVectors', { path: { name: collection }, body }, signal);
  return { matches, warnings, ms: performance.now() - beganMs };
}

/** Runs a query, then the same one over every record. Together they would slow each other. */
async function outcomeOf(collection: string, body: Api.Query, isCompared: boolean, signal: AbortSignal) {
  const found = await timed(collection, body, signal);
  if (!isCompared) return { ...found, exact: null };
  const exact = await timed(collection, { ...body, exact: true, includeMetadata: false }, signal);
  return { ...found, exact };
}

function bodyOf(draft: QueryDraft, values: number[] | null, filter: Api.Filter | undefined): Api.Query {
  return {
    ...(draft.by === 'id' ? { id: draft.id } : { vector: values ?? [] }),
    topK: Number(draft.topK),
    ...(filter !== undefined && { filter }),
    ...(draft.namespace !== '' && { namespace: draft.namespace }),
  } as Api.Query;
}

/** Queries a collection, and says how well and how fast the index answered. */
export default function QueryTab({ collection, route }: TabProps) {
  const { name, dimensions } = collection;
  const [draft, setDraft] = useState<QueryDraft>({
    ...NEW,
    id: route.query.get('id') ?? '',
    namespace: route.query.get('namespace') ?? '',
  });
  const [outcome, setOutcome] = useState<{ of: QueryDraft; is: QueryOutcome } | null>(null);
  const filter = useFilter(name, draft.namespace);
  const change = (part: Partial<QueryDraft>) => setDraft((before) => ({ ...before, ...part }));
  // The reader may have written an id meanwhile.
  useFirstId(collection, draft.id === '', (id) =>
    setDraft((before) => (before.id === '' ? { ...before, id } : before)),
  );
  const vector = readVector(draft.vector, dimensions);
  const isTarget = draft.by === 'id' ? draft.id !== '' : vector.fault === null;
  const topK = Number(draft.topK);
  const canRun = isTarget && filter.fault === null && Number.isInteger(topK) && topK >= 1;
  const body = bodyOf(draft, vector.values, filter.filter);
  const run = useAction(async (signal) => {
    setOutcome({ of: draft, is: await outcomeOf(name, body, draft.isCompared, signal) });
  });
  const form = { collection, draft, change, filter, vector, canRun, isBusy: run.isBusy, onRun: () => run.run() };
  return html`<div class="split">
    <div>
      <${QueryForm} ...${form} />
    </div>
    <div class="split-main">
      ${
        run.failure !== null
          ? html`<${ErrorState} failure=${run.failure} onRetry=${() => run.run()} />`
          : outcome === null
            ? html`<${EmptyState} title="Matches appear here" icon="arrow"><p>Run the query to see them with their scores.</p><//>`
            : html`<${QueryResults} collection=${name} namespace=${outcome.of.namespace} outcome=${outcome.is} />`
      }
      ${canRun && html`<section class="card"><h2>This request</h2><${CodeChoice} codes=${requestCode(SERVICE_URL, name, 'query', { ...body })} what="the request" /></section>`}
    </div>
  </div>`;
}

/** Finds an id to begin with, so that the first query is one click. */
function useFirstId({ name }: Api.CollectionDetail, isWanted: boolean, found: (id: string) => void): void {
  useEffect(() => {
    if (!isWanted) return;
    const leaving = new AbortController();
    ask('listRecords', { path: { name }, body: { limit: 1 } }, leaving.signal).then(
      ({ records: [first] }) => first !== undefined && found(first.id),
      () => undefined, // The field stays empty; running the query will say what is wrong.
    );
    return () => leaving.abort();
  }, [name]);
}
