import { html } from '../../../html.ts';
import type { TabProps } from '../tab-props.ts';
import { ExportPanel } from './export-panel.ts';
import { ImportPanel } from './import-panel.ts';

/** Records from a file, and to a file. */
export default function TransferTab({ collection, reload }: TabProps) {
  return html`<div class="split split-even">
    <${ImportPanel} collection=${collection} reload=${reload} />
    <${ExportPanel} collection=${collection} />
  </div>`;
}
