import { VisibleText } from '../../components/visible-text.ts';
import { html } from '../../html.ts';

/** Characters of metadata in a row. */
const MAX = 120;

/** Metadata in one line. */
export function MetadataText({ metadata = {} }: { metadata?: Record<string, unknown> }) {
  const text = Object.entries(metadata)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' · ');
  if (text === '') return html`<span class="muted">–</span>`;
  const isCut = text.length > MAX;
  return html`<span class="metadata-text"><${VisibleText} value=${isCut ? text.slice(0, MAX) : text} />${isCut && '…'}</span>`;
}
