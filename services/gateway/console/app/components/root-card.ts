import { html } from '../html.ts';
import { numberText } from './number-text.ts';
import { RootFingerprint } from './root-fingerprint.ts';

interface RootCardProps {
  root: string;
  version: number;
  /** Records that the root follows from. */
  count: number;
}

/** The root of a collection, and what it follows from. */
export function RootCard({ root, version, count }: RootCardProps) {
  return html`<section class="card">
    <h2>Root</h2>
    <${RootFingerprint} root=${root} isWhole />
    <dl class="facts">
      <dt>Records</dt><dd>${numberText.whole(count)}</dd>
      <dt>Version</dt><dd>${numberText.whole(version)}</dd>
    </dl>
    <p class="hint">
      Follows from exactly these records, in any order and any number of shards. Each write raises the version.
    </p>
  </section>`;
}
