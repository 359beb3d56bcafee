import type * as Api from '../../../../../client/api/generated.ts';
import { html } from '../html.ts';
import { Button } from './button.ts';
import { CodeBlock } from './code-block.ts';
import { Notice } from './notice.ts';
import { VisibleText } from './visible-text.ts';

/** The only time that a key's secret is shown. */
export function NewKey({ made: { name, secret }, onDone }: { made: Api.NewApiKey; onDone(): void }) {
  return html`<section class="card new-key" aria-label="The new key">
    <${Notice} tone="good"><strong>Copy this key now.</strong> It is shown only once, and Provec does not keep it.<//>
    <p><${VisibleText} value=${name} /></p>
    <${CodeBlock} code=${secret} what="the key" />
    <${Button} onClick=${onDone}>I have copied it<//>
  </section>`;
}
