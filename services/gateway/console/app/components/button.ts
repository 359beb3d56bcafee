import { type Children, html } from '../html.ts';

export interface ButtonProps {
  /** `primary`: the one thing to do next; `danger`: it destroys something. */
  kind?: 'primary' | 'plain' | 'quiet' | 'danger';
  type?: 'button' | 'submit';
  /** Shows that it works, and takes no second click. */
  isBusy?: boolean;
  disabled?: boolean;
  /** Name for screen readers, where the text is not enough. */
  label?: string;
  onClick?(): void;
  children?: Children;
}

export function Button({ kind = 'plain', type = 'button', isBusy, disabled, label, onClick, children }: ButtonProps) {
  return html`<button
    type=${type}
    class=${`button button-${kind}`}
    disabled=${disabled}
    aria-disabled=${isBusy ? 'true' : undefined}
    aria-label=${label}
    onClick=${isBusy ? (event: Event) => event.preventDefault() : onClick}
  >
    ${isBusy && html`<span class="spinner" aria-hidden="true"></span>`}${children}
  </button>`;
}
