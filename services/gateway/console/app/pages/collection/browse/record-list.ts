import { useEffect, useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { EmptyState } from '../../../components/empty-state.ts';
import { Loadable } from '../../../components/loadable.ts';
import { FailureNotice } from '../../../components/notice.ts';
import { numberText } from '../../../components/number-text.ts';
import { type Column, Table } from '../../../components/table.ts';
import { TextInput } from '../../../components/text-input.ts';
import { ask } from '../../../data/service.ts';
import { useAction } from '../../../data/use-action.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';
import { FilterField } from '../filter-field.ts';
import { MetadataText } from '../metadata-text.ts';
import { NamespaceField } from '../namespace-field.ts';
import { RecordLink } from '../record-link.ts';
import { useFilter } from '../use-filter.ts';

/** Records of a request. */
const PAGE = 100;
/** Time in ms without a key after which the list follows what is written. */
const PAUSE_MS = 250;

interface RecordListProps {
  collection: Api.CollectionDetail;
  namespace: string;
  setNamespace(namespace: string): void;
}

function columnsOf(collection: string, namespace: string): readonly Column<Api.ListedRecord>[] {
  return [
    { title: 'Id', cell: ({ id }) => html`<${RecordLink} collection=${collection} namespace=${namespace} id=${id} />` },
    { title: 'Metadata', isWide: true, cell: ({ metadata }) => html`<${MetadataText} metadata=${metadata} />` },
  ];
}

/** Returns a value once it has not changed for a moment. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** Records by prefix, namespace and filter, in the order of their ids. */
export function RecordList({ collection, namespace, setNamespace }: RecordListProps) {
  const [prefix, setPrefix] = useState('');
  const filter = useFilter(collection.name, namespace);
  const wanted = useSettled(
    JSON.stringify({
      includeMetadata: true,
      limit: PAGE,
      ...(prefix !== '' && { prefix }),
      ...(namespace !== '' && { namespace }),
      ...(filter.filter !== undefined && { filter: filter.filter }),
    }),
  );
  return html`<div class="browse">
    <form class="card filters" onSubmit=${(event: Event) => event.preventDefault()}>
      <${TextInput} label="Ids that begin with" type="search" value=${prefix} onInput=${setPrefix} />
      <${NamespaceField} collection=${collection.name} value=${namespace} onInput=${setNamespace} />
      <${FilterField} written=${filter} />
    </form>
    <${Records} key=${wanted} collection=${collection.name} namespace=${namespace} wanted=${wanted} />
  </div>`;
}

function Records({ collection, namespace, wanted }: { collection: string; namespace: string; wanted: string }) {
  const pageAt = (cursor: string | undefined, signal: AbortSignal) => {
    const body = { ...(JSON.parse(wanted) as Api.List), ...(cursor !== undefined && { cursor }) };
    return ask('listRecords', { path: { name: collection }, body }, signal);
  };
  const [later, setLater] = useState<Api.ListRecordsResult[]>([]);
  const first = useData((signal) => pageAt(undefined, signal), [collection, wanted]);
  const more = useAction(async (signal, cursor: string) => {
    const page = await pageAt(cursor, signal);
    setLater((pages) => [...pages, page]);
  });
  const show = (page: Api.ListRecordsResult) => {
    const pages = [page, ...later];
    const records = pages.flatMap((one) => one.records);
    const { nextCursor } = pages.at(-1)!;
    if (records.length === 0)
      return html`<${EmptyState} title="No such records"><p>Change the prefix, the namespace or the filter.</p><//>`;
    return html`<${Table} label="Records" columns=${columnsOf(collection, namespace)} rows=${records}
        keyOf=${({ id }: Api.ListedRecord) => id} />
      <${FailureNotice} failure=${more.failure} />
      <div class="more-row">
        <span class="muted">${numberText.count(records.length, 'record')} shown</span>
        ${
          nextCursor !== undefined &&
          html`<${Button} isBusy=${more.isBusy} onClick=${() => more.run(nextCursor)}>Show ${numberText.whole(PAGE)} more<//>`
        }
      </div>`;
  };
  return html`<${Loadable} from=${first} what="records" show=${show} />`;
}
