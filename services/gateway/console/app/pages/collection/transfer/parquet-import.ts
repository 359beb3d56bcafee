import { useEffect, useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { Notice } from '../../../components/notice.ts';
import { numberText } from '../../../components/number-text.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { Waiting } from '../../../components/waiting.ts';
import { failureOf } from '../../../data/failure.ts';
import { importFile } from '../../../data/transfer.ts';
import { useAction } from '../../../data/use-action.ts';
import { html } from '../../../html.ts';
import { ImportResult } from './import-result.ts';
import { MappingFields } from './mapping-fields.ts';
import { ParquetError, ParquetFile } from './parquet-file.ts';
import { type ColumnMapping, guessedMapping } from './parquet-mapping.ts';

interface ParquetImportProps {
  collection: Api.CollectionDetail;
  file: File;
  reload(): void;
}

/** Imports a Parquet file part by part, once its columns are mapped. */
export default function ParquetImport({ collection: { name, dimensions }, file, reload }: ParquetImportProps) {
  const [opened, setOpened] = useState<ParquetFile | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const [mapping, setMapping] = useState<ColumnMapping | null>(null);
  const [doneRows, setDoneRows] = useState(0);
  const [result, setResult] = useState<Api.ImportRecordsResult | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    const opening = ParquetFile.open(file, leaving.signal);
    opening.then(
      (parquet) => {
        if (leaving.signal.aborted) return;
        setOpened(parquet);
        setMapping(guessedMapping(parquet.columns));
      },
      (error: unknown) => !leaving.signal.aborted && setFault(messageOf(error, 0)),
    );
    return () => {
      leaving.abort();
      // One that failed to open has no worker left.
      opening.then(
        (parquet) => parquet.close(),
        () => undefined,
      );
    };
  }, [file]);
  const run = useAction(async (signal, parquet: ParquetFile, by: ColumnMapping) => {
    setResult(null);
    setFault(null);
    setDoneRows(0);
    let [imported, fromRow] = [0, 0];
    try {
      for await (const part of parquet.parts(by, signal)) {
        fromRow = part.fromRow;
        const answer = await importFile(name, part.lines, () => undefined, signal);
        imported += answer.importedCount;
        setDoneRows(part.fromRow + part.rows);
        setResult({ ...answer, importedCount: imported });
      }
      reload();
    } catch (error) {
      if (!signal.aborted) setFault(messageOf(error, fromRow));
    }
  });
  if (fault !== null && opened === null)
    return html`<${Notice} tone="bad"><${VisibleText} value=${fault} max=${400} /><//>`;
  if (opened === null || mapping === null) return html`<${Waiting} what="the columns" />`;
  const canRun = mapping.id !== '' && mapping.vector !== '' && opened.rows > 0;
  return html`<p class="hint">${numberText.count(opened.rows, 'row')}, ${numberText.count(opened.columns.length, 'column')}. Vectors need ${dimensions} numbers.</p>
    <${MappingFields} columns=${opened.columns} mapping=${mapping} onChange=${setMapping} />
    ${run.isBusy && html`<${RowsDone} done=${doneRows} of=${opened.rows} />`}
    <div class="page-actions">
      <${Button} kind="primary" disabled=${!canRun} isBusy=${run.isBusy} onClick=${() => run.run(opened, mapping)}>Import<//>
      ${run.isBusy && html`<${Button} onClick=${run.reset}>Cancel<//>`}
    </div>
    ${
      fault !== null &&
      html`<${Notice} tone="bad"><${VisibleText} value=${fault} max=${400} /> Rows before it are stored; importing the corrected file replaces them.<//>`
    }
    <div class="measures" aria-live="polite">${result !== null && !run.isBusy && html`<${ImportResult} result=${result} />`}</div>`;
}

/** Returns what is wrong; the service counts lines of a part, the reader rows of the file. */
function messageOf(error: unknown, fromRow: number): string {
  if (error instanceof ParquetError) return error.message;
  const { title = 'Cancelled', text = '' } = failureOf(error) ?? {};
  return `${title}. ${text.replace(/\bline (\d+)\b/g, (_, line: string) => `row ${Number(line) + fromRow}`)}`;
}

function RowsDone({ done, of }: { done: number; of: number }) {
  return html`<div class="progress">
    <progress value=${done} max=${of} aria-label="Rows imported"></progress>
    <span>${numberText.whole(done)} of ${numberText.count(of, 'row')}</span>
  </div>`;
}
