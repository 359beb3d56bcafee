import { useState } from 'preact/hooks';
import { html } from '../html.ts';
import { Icon } from './icon.ts';
import { announce } from './toast.ts';

const SHOWN_MS = 2_000;

/** Copies a text. `what` names it, for screen readers and the note that it was copied. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Only pages over https or on this machine may write to the clipboard.
      announce(`This browser does not let the page copy; select ${what} instead.`, 'bad');
      return;
    }
    setCopied(true);
    announce(`Copied ${what}.`);
    setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return html`<button type="button" class="copy" aria-label=${`Copy ${what}`} title=${`Copy ${what}`} onClick=${copy}>
    <${Icon} name=${isCopied ? 'check' : 'copy'} />
  </button>`;
}
