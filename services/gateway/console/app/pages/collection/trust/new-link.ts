import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { CodeBlock } from '../../../components/code-block.ts';
import { Notice } from '../../../components/notice.ts';
import { html } from '../../../html.ts';
import { hrefOf } from '../../../shell/route.ts';

/**
 * Returns the address of the page that a token opens. The token is in the fragment, which browsers
 * send to no server.
 */
const addressOf = (token: string): string => new URL(hrefOf(['audit', token]), document.baseURI).href;

/** The only time that a link is shown. */
export function NewLink({ made: { token }, onDone }: { made: Api.NewAuditLink; onDone(): void }) {
  const address = addressOf(token);
  return html`<section class="new-link" aria-label="The new audit link">
    <${Notice} tone="good"><strong>Copy this link now.</strong> It is shown only once, and Provec does not keep it.<//>
    <${CodeBlock} code=${address} what="the link" />
    <div class="button-row">
      <${Button} onClick=${onDone}>I have copied it<//>
      <a href=${address} target="_blank" rel="noopener noreferrer">See what it shows</a>
    </div>
  </section>`;
}
