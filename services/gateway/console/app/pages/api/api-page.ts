import { useState } from 'preact/hooks';
import { EmptyState } from '../../components/empty-state.ts';
import { Loadable } from '../../components/loadable.ts';
import { PageHead } from '../../components/page-head.ts';
import { TextInput } from '../../components/text-input.ts';
import { readOpenJson } from '../../data/raw-request.ts';
import { useData } from '../../data/use-data.ts';
import { html } from '../../html.ts';
import { goTo, hrefOf, type PageRoute } from '../../shell/route.ts';
import { type ApiOperation, operationsOf, searchOperations, type WrittenDocument } from './api-document.ts';
import { OperationView } from './operation-view.ts';

const STYLE = new URL('./api.css', import.meta.url).href;
/** Documents by their names in the address. */
const DOCUMENTS: Readonly<Record<string, readonly [label: string, path: string]>> = {
  provec: ['Provec', '/openapi.json'],
  pinecone: ['For Pinecone’s clients', '/pinecone/openapi.json'],
};

/** Every operation of the API, from its own documents: searched, read and tried. */
export default function ApiPage({ route }: { route: PageRoute }) {
  const name = Object.hasOwn(DOCUMENTS, route.path[1] ?? '') ? route.path[1]! : 'provec';
  const loaded = useData((signal) => readOpenJson(DOCUMENTS[name]![1], signal) as Promise<WrittenDocument>, [name]);
  const about = html`<span>Every operation, from <a class="api-source" href=${`..${DOCUMENTS[name]![1]}`}>${DOCUMENTS[name]![1]}</a></span>`;
  return html`<link rel="stylesheet" href=${STYLE} />
    <${PageHead} title="API" about=${about} />
    <div class="segments api-documents" role="group" aria-label="Document">
      ${Object.entries(DOCUMENTS).map(
        ([other, [label]]) => html`<button type="button" aria-pressed=${other === name ? 'true' : 'false'}
          onClick=${() => goTo(hrefOf(['api', other]))}>${label}</button>`,
      )}
    </div>
    <${Loadable} from=${loaded} what="the document" show=${(document: WrittenDocument) =>
      html`<${ApiBrowser} key=${name} name=${name} document=${document} chosen=${route.path[2] ?? ''} />`} />`;
}

interface ApiBrowserProps {
  name: string;
  document: WrittenDocument;
  /** Id of the operation that is shown; '' for none. */
  chosen: string;
}

function ApiBrowser({ name, document, chosen }: ApiBrowserProps) {
  const [query, setQuery] = useState('');
  const operations = operationsOf(document);
  const found = searchOperations(operations, query);
  const shown = operations.find(({ id }) => id === chosen);
  return html`<div class=${chosen === '' ? 'api-split' : 'api-split api-chosen'}>
    <section class="card api-list" aria-label="Operations">
      <${TextInput} label="Search" type="search" value=${query} onInput=${setQuery} placeholder="upsert, filter, anchors…" />
      <p class="hint" role="status">${found.length} of ${operations.length} operations</p>
      <${OperationList} name=${name} operations=${found} chosen=${chosen} isSorted=${query.trim() !== ''} />
    </section>
    <div class="api-main">
      ${chosen !== '' && html`<a class="back api-back" href=${hrefOf(['api', name])}>← All operations</a>`}
      ${
        shown === undefined
          ? html`<${EmptyState} title=${chosen === '' ? 'Choose an operation' : 'There is no such operation'} icon="arrow">
              <p>Each has its parameters, its answers, and a form to try it with your key.</p>
            <//>`
          : html`<${OperationView} key=${shown.id} operation=${shown} components=${document.components} />`
      }
    </div>
  </div>`;
}

interface OperationListProps {
  name: string;
  operations: readonly ApiOperation[];
  chosen: string;
  /** Whether the best come first, rather than those of one group together. */
  isSorted: boolean;
}

function OperationList({ name, operations, chosen, isSorted }: OperationListProps) {
  const tags = isSorted ? [''] : [...new Set(operations.map(({ tag }) => tag))];
  const link = ({ id, method, path, summary }: ApiOperation) => html`<li key=${id}>
    <a href=${hrefOf(['api', name, id])} aria-current=${id === chosen ? 'true' : undefined}>
      <span>${summary}</span>
      <code><b class=${`method method-${method.toLowerCase()}`}>${method}</b> ${path}</code>
    </a>
  </li>`;
  return html`<div class="api-groups">
    ${tags.map(
      (tag) => html`<div key=${tag}>
        ${tag !== '' && html`<h2>${tag}</h2>`}
        <ul>${operations.filter((operation) => tag === '' || operation.tag === tag).map(link)}</ul>
      </div>`,
    )}
  </div>`;
}
