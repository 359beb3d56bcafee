import { Icon } from '../components/icon.ts';
import { Notice } from '../components/notice.ts';
import { VisibleText } from '../components/visible-text.ts';
import { html } from '../html.ts';
import type { CheckOutcome } from './check-request.ts';

const MAX = 600;
/** A line of a verdict below the first: a word, and what it says. */
const DETAIL = /^ {2}(\S+)\s+([\s\S]*)$/;
/** The word that a verdict begins with. */
const WORD = /^(NOT PROVEN|[A-Z]+)\s+/;

/** What a check came to, in the words of provec-verify. */
export function VerdictCard({ outcome }: { outcome: CheckOutcome }) {
  if (outcome.kind === 'ledger') return html`<${LedgerFailure} message=${outcome.message} />`;
  if (outcome.kind === 'unusable')
    return html`<${Notice} tone="bad"><strong>Nothing was checked.</strong> <${VisibleText} value=${outcome.message} max=${MAX} /><//>`;
  const { isProven, lines } = outcome;
  const [first = '', ...others] = lines;
  const [, word = ''] = WORD.exec(first) ?? [];
  return html`<section class=${`card verdict verdict-${isProven ? 'good' : 'bad'}`} aria-label="Verdict">
    <div class="verdict-seal"><${Icon} name=${isProven ? 'check' : 'warning'} /></div>
    <div class="verdict-body">
      <h2>${word}</h2>
      <p class="verdict-line"><${VisibleText} value=${first.slice(word.length).trim()} max=${MAX} /></p>
      ${others.length > 0 && html`<dl class="facts">${others.map(detail)}</dl>`}
    </div>
  </section>`;
}

function detail(line: string) {
  const [, name = '', text = line] = DETAIL.exec(line) ?? [];
  return html`<dt>${name}</dt><dd><${VisibleText} value=${text} max=${MAX} /></dd>`;
}

function LedgerFailure({ message }: { message: string }) {
  return html`<${Notice} tone="bad">
    <p><strong>The ledger could not be asked.</strong> <${VisibleText} value=${message} max=${MAX} /></p>
    <p>
      A browser shows a page only the answers of nodes that allow pages of other sites (CORS). Public nodes of Solana do.
      Provec's embedded ledger allows pages of its own service on this machine, and the origins that${' '}
      <code>PROVEC_CORS_ORIGINS</code> names; this page's is <code>${location.origin}</code>. Use another node, or <code>provec-verify</code>, which has no such limit.
    </p>
  <//>`;
}
