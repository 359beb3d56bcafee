import { html } from '../html.ts';
import { CopyButton } from './copy-button.ts';
import { Icon } from './icon.ts';

interface LedgerLinkProps {
  /** Transaction or address, in base58. */
  value: string;
  /** Its page in an explorer; null if none can open it. */
  url: string | null;
  what: string;
}

const ENDS = 6;

/** A transaction or an address of the ledger: short, to copy, and leading to an explorer. */
export function LedgerLink({ value, url, what }: LedgerLinkProps) {
  const short = html`<code title=${value}>${value.slice(0, ENDS)}…${value.slice(-ENDS)}</code>`;
  const isLink = url !== null && /^https?:\/\//.test(url);
  return html`<span class="ledger-link">
    ${isLink ? html`<a href=${url} target="_blank" rel="noopener noreferrer">${short}<${Icon} name="out" /></a>` : short}
    <${CopyButton} text=${value} what=${what} />
  </span>`;
}
