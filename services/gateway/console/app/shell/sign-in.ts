import { useState } from 'preact/hooks';
import { APIStatusError } from '../../../../../client/http/errors.ts';
import { Button } from '../components/button.ts';
import { Checkbox } from '../components/checkbox.ts';
import { CodeBlock } from '../components/code-block.ts';
import { FailureNotice, Notice } from '../components/notice.ts';
import { TextInput } from '../components/text-input.ts';
import { scopesOf } from '../data/service.ts';
import { beginSession, useSession } from '../data/session.ts';
import { useAction } from '../data/use-action.ts';
import { html } from '../html.ts';
import { Brand } from './brand.ts';
import { hrefOf } from './route.ts';
import { ThemeSelect } from './theme-select.ts';

/** Asks for an API key. */
export function SignIn() {
  const { ended } = useSession();
  const [key, setKey] = useState('');
  const [isKept, setKept] = useState(false);
  const [isUnknown, setUnknown] = useState(false);
  const signIn = useAction(async (signal) => {
    setUnknown(false);
    try {
      beginSession(key.trim(), await scopesOf(key.trim(), signal), isKept);
    } catch (error) {
      if (!isBadKey(error)) throw error;
      setUnknown(true);
    }
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (key.trim() !== '') signIn.run();
  };
  return html`<main class="sign-in" id="main">
    <div class="sign-in-box">
      <${Brand} />
      <h1>Sign in to the console</h1>
      ${
        ended === 'refused' &&
        html`<${Notice} tone="bad">
          <strong>Your key is no longer accepted.</strong> It was revoked or has expired. What you did before is stored.
        <//>`
      }
      <form onSubmit=${submit}>
        <${TextInput}
          label="API key"
          type="password"
          isCode
          required
          value=${key}
          onInput=${(value: string) => {
            setKey(value);
            setUnknown(false);
          }}
          placeholder="pv_live_…"
          hint="The first start of Provec prints one."
          error=${isUnknown ? 'Provec does not know this key. It may be mistyped, revoked or expired.' : null}
        />
        <${Checkbox}
          label="Stay signed in until this tab closes"
          hint="Otherwise the key is gone when you reload the page."
          checked=${isKept}
          onChange=${setKept}
        />
        <${FailureNotice} failure=${signIn.failure} />
        <${Button} kind="primary" type="submit" isBusy=${signIn.isBusy}>Sign in<//>
      </form>
      <details>
        <summary>I have no key</summary>
        <p>Someone with a key for your account can make one under Keys. An operator can make one for any account:</p>
        <${CodeBlock} what="the command" code="npx provec accounts keys create --help" />
        <p><a href=${hrefOf(['operator'])}>I am the operator</a></p>
      </details>
    </div>
    <footer class="sign-in-foot">
      <p>The key stays in this tab and goes to no other server.</p>
      <${ThemeSelect} />
    </footer>
  </main>`;
}

/** Whether the service, or the client before it, refused the key itself. */
const isBadKey = (error: unknown): boolean =>
  error instanceof TypeError || (error instanceof APIStatusError && error.status === 401);
