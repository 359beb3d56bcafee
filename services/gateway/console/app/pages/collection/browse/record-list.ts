import { useCallback, useEffect, useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { EmptyState } from '../../../components/empty-state.ts';
import { Loadable } from '../../../components/loadable.ts';
import { FailureNotice } from '../../../components/notice.ts';
import { numberText } from '../../../components/number-text.ts';
import { type Column, Table } from '../../../components/table.ts';
import { TextInput } from '../../../components/text-input.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { ask } from '../../../data/service.ts';
import { useAction } from '../../../data/use-action.ts';
import { useData } from '../../../data/use-data.ts';
import { useSettled } from '../../../data/use-settled.ts';
import { html } from '../../../html.ts';
import { FilterBuilder } from '../filter-builder.ts';
import { FilterField } from '../filter-field.ts';
import { MetadataText } from '../metadata-text.ts';
import { NamespaceField } from '../namespace-field.ts';
import { RecordLink } from '../record-link.ts';
import { useFilter } from '../use-filter.ts';
import { ValueText } from '../value-text.ts';
import { ColumnChoice } from './column-choice.ts';
import { Facets } from './facets.ts';
import { useColumns } from './use-columns.ts';

/** Records of a request. */
const PAGE = 100;
/** Fields that are offered as facets and columns. */
const FIELDS_MAX = 40;
const TITLE_MAX = 32;
const STYLE = new URL('./browse.css', import.meta.url).href;

interface RecordListProps {
  collection: Api.CollectionDetail;
  namespace: string;
  setNamespace(namespace: string): void;
  /** Text of the filter to begin with. */
  filter: string;
}

function columnsOf(
  collection: string,
  namespace: string,
  fields: readonly string[],
): readonly Column<Api.ListedRecord>[] {
  const id: Column<Api.ListedRecord> = {
    title: 'Id',
    cell: (record) => html`<${RecordLink} collection=${collection} namespace=${namespace} id=${record.id} />`,
  };
  if (fields.length === 0)
    return [
      id,
      { title: 'Metadata', isWide: true, cell: ({ metadata }) => html`<${MetadataText} metadata=${metadata} />` },
    ];
  const columns = fields.map((field) => ({
    title: html`<${VisibleText} value=${field.slice(0, TITLE_MAX)} />${field.length > TITLE_MAX && '…'}`,
    cell: ({ metadata = {} }: Api.ListedRecord) =>
      html`<${ValueText} value=${Object.hasOwn(metadata, field) ? metadata[field] : undefined} />`,
  }));
  return [id, ...columns];
}

/** Records by prefix, namespace and filter, in the order of their ids. */
export function RecordList({ collection, namespace, setNamespace, filter: first }: RecordListProps) {
  const [prefix, setPrefix] = useState('');
  const [columns, choose] = useColumns(collection.id);
  const [fields, addFields] = useFields();
  const filter = useFilter(collection.name, namespace, first);
  const wanted = useSettled(
    JSON.stringify({
      includeMetadata: true,
      limit: PAGE,
      ...(prefix !== '' && { prefix }),
      ...(namespace !== '' && { namespace }),
      ...(filter.filter !== undefined && { filter: filter.filter }),
    }),
  );
  const place = { collection: collection.name, namespace };
  return html`<link rel="stylesheet" href=${STYLE} />
    <form class="card browse-form" onSubmit=${(event: Event) => event.preventDefault()}>
      <${TextInput} label="Ids that begin with" type="search" value=${prefix} onInput=${setPrefix} />
      <${NamespaceField} collection=${collection.name} value=${namespace} onInput=${setNamespace} />
      <${FilterField} written=${filter} />
      <${FilterBuilder} written=${filter} fields=${fields} />
    </form>
    <div class="browse-split">
      <${Facets} ...${place} fields=${fields} written=${filter} />
      <div>
        <div class="browse-head"><${ColumnChoice} fields=${fields} columns=${columns} choose=${choose} /></div>
        <${Records} key=${wanted} ...${place} wanted=${wanted} columns=${columns} onRecords=${addFields} />
      </div>
    </div>`;
}

/** Collects the fields of the records that were listed, in the order of their names. */
function useFields(): [fields: readonly string[], add: (records: readonly Api.ListedRecord[]) => void] {
  const [fields, setFields] = useState<readonly string[]>([]);
  const add = useCallback((records: readonly Api.ListedRecord[]) => {
    setFields((known) => {
      const all = new Set(known);
      for (const { metadata = {} } of records) for (const name of Object.keys(metadata)) all.add(name);
      return all.size === known.length ? known : [...all].sort().slice(0, FIELDS_MAX);
    });
  }, []);
  return [fields, add];
}

interface RecordsProps {
  collection: string;
  namespace: string;
  /** Body of the request, as JSON. */
  wanted: string;
  columns: readonly string[];
  onRecords(records: readonly Api.ListedRecord[]): void;
}

function Records({ collection, namespace, wanted, columns, onRecords }: RecordsProps) {
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
  const { data } = first;
  useEffect(() => {
    if (data.state === 'ready') onRecords([data.value, ...later].flatMap(({ records }) => records));
  }, [data, later]);
  const show = (page: Api.ListRecordsResult) => {
    const pages = [page, ...later];
    const records = pages.flatMap((one) => one.records);
    const { nextCursor } = pages.at(-1)!;
    if (records.length === 0)
      return html`<${EmptyState} title="No such records"><p>Change the prefix, the namespace or the filter.</p><//>`;
    return html`<${Table} label="Records" columns=${columnsOf(collection, namespace, columns)} rows=${records}
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
