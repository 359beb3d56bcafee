import type * as Api from '../../../../../../../client/api/generated.ts';
import { Notice } from '../../../components/notice.ts';
import { numberText } from '../../../components/number-text.ts';
import { RootFingerprint } from '../../../components/root-fingerprint.ts';
import { html } from '../../../html.ts';

/** What an import wrote, and the root since then. */
export function ImportResult({ result }: { result: Api.ImportRecordsResult }) {
  return html`<${Notice} tone="good">Imported ${numberText.count(result.importedCount, 'record')} as version ${numberText.whole(result.version)}.<//>
    <p class="hint">Root now</p>
    <${RootFingerprint} root=${result.merkleRoot} what="the root" />`;
}
