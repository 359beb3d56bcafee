import { useState } from 'preact/hooks';
import type * as Api from '../../../../../client/api/generated.ts';
import { expiryIn } from '../data/expiry.ts';
import { useAction } from '../data/use-action.ts';
import { html } from '../html.ts';
import { Checkbox } from './checkbox.ts';
import { Dialog } from './dialog.ts';
import { DialogFoot } from './dialog-foot.ts';
import { Select } from './select.ts';
import { TextInput } from './text-input.ts';

type Scope = Api.ApiKey['scopes'][number];

const SCOPES: Readonly<Record<Scope, string>> = {
  read: 'query, fetch, list, verify and prove',
  write: 'upsert, update, delete and import records',
  manage: 'create and delete collections and keys',
};
const LIVES = { '': 'Never', 30: 'In 30 days', 90: 'In 90 days', 365: 'In a year' };

interface CreateKeyDialogProps {
  make(body: Api.CreateKey, signal: AbortSignal): Promise<Api.NewApiKey>;
  onClose(): void;
  onCreated(key: Api.NewApiKey): void;
}

/** Makes a key for a program or a person. */
export function CreateKeyDialog({ make, onClose, onCreated }: CreateKeyDialogProps) {
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly Scope[]>(['read']);
  const [days, setDays] = useState('');
  const [isTried, setTried] = useState(false);
  const create = useAction(async (signal) => {
    const body = { name, scopes: [...scopes], expires_at: expiryIn(days) };
    onCreated(await make(body, signal));
  });
  const toggle = (scope: Scope) => (isOn: boolean) =>
    setScopes((before) => (isOn ? [...before, scope] : before.filter((other) => other !== scope)));
  const submit = (event: Event) => {
    event.preventDefault();
    setTried(true);
    if (name !== '' && scopes.length > 0) create.run();
  };
  return html`<${Dialog} title="New key" onClose=${onClose}>
    <form onSubmit=${submit} novalidate>
      <${TextInput} label="Name" value=${name} onInput=${setName} placeholder="search service"
        hint="For people: what it is for." error=${isTried && name === '' ? 'Give it a name.' : null} />
      <fieldset>
        <legend>It may</legend>
        ${Object.entries(SCOPES).map(
          ([scope, may]) => html`<${Checkbox} key=${scope} label=${scope} hint=${may}
            checked=${scopes.includes(scope as Scope)} onChange=${toggle(scope as Scope)} />`,
        )}
        ${isTried && scopes.length === 0 && html`<p class="field-error">Choose at least one.</p>`}
      </fieldset>
      <${Select} label="Expires" value=${days} options=${LIVES} onChange=${setDays} />
      <${DialogFoot} act="Create" action=${create} onClose=${onClose} />
    </form>
  <//>`;
}
