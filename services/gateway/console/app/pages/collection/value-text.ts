import { VisibleText } from '../../components/visible-text.ts';
import { html } from '../../html.ts';

/** Characters of a value in a row. */
const MAX = 48;

/** A value of metadata in one line. */
export function ValueText({ value }: { value: unknown }) {
  if (value === undefined) return html`<span class="muted">–</span>`;
  if (value === '') return html`<span class="muted">empty text</span>`;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return html`<${VisibleText} value=${text.length > MAX ? text.slice(0, MAX) : text} />${text.length > MAX && '…'}`;
}
