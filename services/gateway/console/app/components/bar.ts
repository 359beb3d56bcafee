import { html } from '../html.ts';

/** A share between 0 and 1 as a bar, beside a text that says it in numbers. */
export function Bar({ share, isFull = false }: { share: number; isFull?: boolean }) {
  const width = Math.min(1, Math.max(0, share)) * 100;
  return html`<svg class=${isFull ? 'bar bar-full' : 'bar'} viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
    <rect class="bar-track" width="100" height="6" rx="0" /><rect class="bar-value" width=${width} height="6" />
  </svg>`;
}
