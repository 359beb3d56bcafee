import { html } from '../html.ts';
import { CopyButton } from './copy-button.ts';
import { Icon } from './icon.ts';

interface LedgerLinkProps {
  /** Transaction or address, in base58. */
  value: string;
  /** Its page in an explorer; null if none can open it. */
  url: string | null;
  what: string;
  /** All characters, or only the first and the last. */
  isWhole?: boolean;
}

const ENDS = 6;

/** A transaction or an address of the ledger: short, to copy, and leading to an explorer. */
export function LedgerLink({ value, url, what, isWhole = false }: LedgerLinkProps) {
  const text = isWhole ? value : `${value.slice(0, ENDS)}…${value.slice(-ENDS)}`;
  const shown = html`<code title=${isWhole ? undefined : value}>${text}</code>`;
  const isLink = url !== null && /^https?:\/\//.test(url);
  return html`<span class=${isWhole ? 'ledger-link ledger-whole' : 'ledger-link'}>
    ${isLink ? html`<a href=${url} target="_blank" rel="noopener noreferrer">${shown}<${Icon} name="out" /></a>` : shown}
    <${CopyButton} text=${value} what=${what} />
  </span>`;
}
