import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { Lazy } from '../../../components/lazy.ts';
import { FailureNotice, Notice } from '../../../components/notice.ts';
import { numberText } from '../../../components/number-text.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { importFile } from '../../../data/transfer.ts';
import { useAction } from '../../../data/use-action.ts';
import { html } from '../../../html.ts';
import { ImportResult } from './import-result.ts';

interface ImportPanelProps {
  collection: Api.CollectionDetail;
  reload(): void;
}

const loadParquet = () => import('./parquet-import.ts');
const isParquet = ({ name }: File): boolean => /\.parquet$/i.test(name);

/** Writes the records of a file. The code for Parquet loads once such a file is chosen. */
export function ImportPanel({ collection, reload }: ImportPanelProps) {
  const [file, setFile] = useState<File | null>(null);
  const { dimensions } = collection;
  return html`<section class="card" aria-labelledby="import-title">
    <h2 id="import-title">Import</h2>
    <p class="hint">
      NDJSON with a record on each line, an export, or Parquet. A line looks like
      ${' '}<code>{"id": "a", "values": [${dimensions} numbers], "metadata": {}}</code>. Records with the same id are replaced.
    </p>
    <input type="file" class="input" aria-label="File with records" accept=".ndjson,.jsonl,.json,.parquet"
      onChange=${(event: Event) => setFile((event.target as HTMLInputElement).files?.[0] ?? null)} />
    ${
      file !== null && isParquet(file)
        ? html`<${Lazy} key=${file} load=${loadParquet} props=${{ collection, file, reload }} />`
        : html`<${LinesImport} key=${file} name=${collection.name} file=${file} reload=${reload} />`
    }
  </section>`;
}

interface LinesImportProps {
  name: string;
  file: File | null;
  reload(): void;
}

/** Imports lines. The browser sends them as it reads them. */
function LinesImport({ name, file, reload }: LinesImportProps) {
  const [sentBytes, setSentBytes] = useState(0);
  const [result, setResult] = useState<Api.ImportRecordsResult | null>(null);
  const run = useAction(async (signal, from: File) => {
    setSentBytes(0);
    setResult(null);
    setResult(await importFile(name, from, setSentBytes, signal));
    reload();
  });
  const isRefused = run.failure?.kind === 'invalid';
  return html`${run.isBusy && file !== null && html`<${Sent} sentBytes=${sentBytes} bytes=${file.size} />`}
    <div class="page-actions">
      <${Button} kind="primary" disabled=${file === null} isBusy=${run.isBusy} onClick=${() => file !== null && run.run(file)}>
        Import
      <//>
      ${run.isBusy && html`<${Button} onClick=${run.reset}>Cancel<//>`}
    </div>
    ${
      run.failure !== null &&
      (isRefused
        ? html`<${Notice} tone="bad">
            <strong>${run.failure.title}.</strong> <${VisibleText} value=${run.failure.text} max=${400} />
            ${' '}Records before that line are stored; importing the corrected file replaces them.
          <//>`
        : html`<${FailureNotice} failure=${run.failure} />`)
    }
    <div class="measures" aria-live="polite">${result !== null && html`<${ImportResult} result=${result} />`}</div>`;
}

/** How much of the file is sent; the service may still be writing. */
function Sent({ sentBytes, bytes }: { sentBytes: number; bytes: number }) {
  const share = Math.min(1, sentBytes / Math.max(bytes, 1));
  return html`<div class="progress">
    <progress value=${share} max="1" aria-label="Bytes sent"></progress>
    <span>${share < 1 ? `${numberText.percent(share)} sent` : 'Sent; the service is writing'}</span>
  </div>`;
}
