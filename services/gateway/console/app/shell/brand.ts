import { html } from '../html.ts';

/** The sign of a root over two leaves, and the name. */
export function Brand() {
  return html`<span class="brand">
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M16 8v6M16 14l-7 5M16 14l7 5" />
      <circle cx="16" cy="8" r="3.4" /><circle cx="9" cy="22" r="3.4" /><circle cx="23" cy="22" r="3.4" />
    </svg>
    Provec
  </span>`;
}
