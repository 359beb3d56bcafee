import { useState } from 'preact/hooks';
import { html } from '../html.ts';
import { CopyButton } from './copy-button.ts';

/** A text to copy, as it is. */
export function CodeBlock({ code, what }: { code: string; what: string }) {
  return html`<div class="code-block">
    <pre role="region" aria-label=${what} tabindex="0"><code>${code}</code></pre>
    <${CopyButton} text=${code} what=${what} />
  </div>`;
}

/** The same in several languages. */
export function CodeChoice({ codes, what }: { codes: Readonly<Record<string, string>>; what: string }) {
  const names = Object.keys(codes);
  const [chosen, choose] = useState(names[0] ?? '');
  return html`<div class="code-choice">
    <div class="segments" role="group" aria-label=${`Language of ${what}`}>
      ${names.map(
        (name) =>
          html`<button type="button" aria-pressed=${name === chosen ? 'true' : 'false'} onClick=${() => choose(name)}>${name}</button>`,
      )}
    </div>
    <${CodeBlock} code=${codes[chosen] ?? ''} what=${what} />
  </div>`;
}
