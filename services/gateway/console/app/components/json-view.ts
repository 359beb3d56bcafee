import { html } from '../html.ts';
import { VisibleText } from './visible-text.ts';

/** Characters of a JSON text that are shown at first. */
const MAX = 2_000;

/** A JSON value of a tenant, as text. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  return html`<div class="code-block">
    <pre role="region" aria-label=${label} tabindex="0"><${VisibleText} value=${JSON.stringify(value, null, 2)} max=${MAX} isBlock /></pre>
  </div>`;
}
