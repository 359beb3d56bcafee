import { useState } from 'preact/hooks';
import { APIStatusError } from '../../../../../../client/http/errors.ts';
import { Button } from '../../components/button.ts';
import { FailureNotice, Notice } from '../../components/notice.ts';
import { PageHead } from '../../components/page-head.ts';
import { TextInput } from '../../components/text-input.ts';
import { beginOperatorSession, useOperatorSession } from '../../data/operator-session.ts';
import { useAction } from '../../data/use-action.ts';
import { html } from '../../html.ts';

const WRONG = 'This is not the token of this service. An API key is not one.';
const NO_OPERATOR =
  'This service has no operator: PROVEC_ADMIN_TOKEN is not set. Set it for every gateway, and start the service again.';

/** Asks for the operator's token. */
export function TokenForm() {
  const { ended } = useOperatorSession();
  const [token, setToken] = useState('');
  const [fault, setFault] = useState<string | null>(null);
  const begin = useAction(async (signal) => {
    setFault(null);
    try {
      await beginOperatorSession(token.trim(), signal);
    } catch (error) {
      const words = faultOf(error);
      if (words === null) throw error;
      setFault(words);
    }
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (token.trim() !== '') begin.run();
  };
  return html`<${PageHead} title="Operator" about="The whole service: every account, node and shard." />
    <section class="card token-card">
      ${
        ended === 'refused' &&
        html`<${Notice} tone="bad">
          <strong>Your token is no longer accepted.</strong> The service was started with another one.
        <//>`
      }
      <form onSubmit=${submit}>
        <${TextInput}
          label="Operator’s token"
          type="password"
          isCode
          required
          value=${token}
          onInput=${(value: string) => {
            setToken(value);
            setFault(null);
          }}
          hint="The value of PROVEC_ADMIN_TOKEN. It may change and delete every account."
          error=${fault}
        />
        <${FailureNotice} failure=${begin.failure} />
        <${Button} kind="primary" type="submit" isBusy=${begin.isBusy}>Open the operator’s pages<//>
      </form>
      <p class="hint">
        The token stays in the memory of this page alone: it is gone when you reload it, sign out, or close the tab.
      </p>
    </section>`;
}

/** Returns what is wrong with a token in words; null if that is not why the request failed. */
function faultOf(error: unknown): string | null {
  if (error instanceof TypeError) return WRONG;
  if (!(error instanceof APIStatusError)) return null;
  if (error.status === 401) return WRONG;
  return error.code === 'ROUTE_NOT_FOUND' ? NO_OPERATOR : null;
}
