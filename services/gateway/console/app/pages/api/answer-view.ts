import { Badge } from '../../components/badge.ts';
import { CopyButton } from '../../components/copy-button.ts';
import { numberText } from '../../components/number-text.ts';
import { VisibleText } from '../../components/visible-text.ts';
import { ANSWER_MAX_BYTES, type RawAnswer } from '../../data/raw-request.ts';
import { html } from '../../html.ts';

/** Characters of an answer that are shown at first. */
const SHOWN_CHARS = 8_000;

/** An answer with its status and time, as text whatever it contains. */
export function AnswerView({ answer: { status, headers, text, isCut, ms } }: { answer: RawAnswer }) {
  const requestId = headers.get('x-request-id');
  return html`<section class="api-answer" aria-label="Answer">
    <p class="about">
      <${Badge} tone=${status < 400 ? 'good' : 'bad'}>${status}<//>
      <span>${numberText.ms(ms)}</span>
      ${requestId !== null && html`<span>Request <code>${requestId}</code> <${CopyButton} text=${requestId} what="the request id" /></span>`}
    </p>
    ${isCut && html`<p class="hint">The answer is longer; these are its first ${numberText.bytes(ANSWER_MAX_BYTES)}.</p>`}
    ${
      text === ''
        ? html`<p class="muted">No content.</p>`
        : html`<div class="code-block">
            <pre role="region" aria-label="Body of the answer" tabindex="0"><${VisibleText} value=${pretty(text, isCut)} max=${SHOWN_CHARS} isBlock /></pre>
            <${CopyButton} text=${text} what="the answer" />
          </div>`
    }
  </section>`;
}

/** Returns JSON with line breaks; everything else as it is. */
function pretty(text: string, isCut: boolean): string {
  if (isCut) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Not JSON: a page, metrics, or lines of an export.
    return text;
  }
}
