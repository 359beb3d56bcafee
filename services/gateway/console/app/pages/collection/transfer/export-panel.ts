import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { FailureNotice } from '../../../components/notice.ts';
import { numberText } from '../../../components/number-text.ts';
import { RootFingerprint } from '../../../components/root-fingerprint.ts';
import { type ExportedFile, exportFile } from '../../../data/transfer.ts';
import { useAction } from '../../../data/use-action.ts';
import { html } from '../../../html.ts';

/** Saves all records to a file, with the root that they give. */
export function ExportPanel({ collection: { name, vector_count: count } }: { collection: Api.CollectionDetail }) {
  const [readBytes, setReadBytes] = useState(0);
  const [exported, setExported] = useState<ExportedFile | null>(null);
  const run = useAction(async (signal) => {
    setReadBytes(0);
    setExported(null);
    const made = await exportFile(name, setReadBytes, signal);
    save(made.file, `${name}.ndjson`);
    setExported(made);
  });
  return html`<section class="card" aria-labelledby="export-title">
    <h2 id="export-title">Export</h2>
    <p class="hint">
      All ${numberText.count(count, 'record')} of one moment, in every namespace, as NDJSON. Anyone with the file can
      compute its root, and compare it with the ledger.
    </p>
    ${run.isBusy && html`<div class="progress"><span class="spinner" aria-hidden="true"></span><span>${numberText.short(readBytes)} bytes</span></div>`}
    <div class="page-actions">
      <${Button} kind="primary" isBusy=${run.isBusy} onClick=${() => run.run()}>Export to a file<//>
      ${run.isBusy && html`<${Button} onClick=${run.reset}>Cancel<//>`}
    </div>
    <${FailureNotice} failure=${run.failure} />
    <div class="measures" aria-live="polite">
      ${
        exported !== null &&
        html`<p>${numberText.count(exported.vectorCount, 'record')}, version ${numberText.whole(exported.version)}, with the root</p>
          <${RootFingerprint} root=${exported.merkleRoot} isWhole what="the root of the export" />
          <p class="hint">
            Give the file to <a href="verify/" target="_blank" rel="noopener">the verifier</a> to check it against the ledger.
          </p>`
      }
    </div>
  </section>`;
}

function save(file: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  // The browser reads the file after this returns.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
