import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Dialog } from '../../../components/dialog.ts';
import { DialogFoot } from '../../../components/dialog-foot.ts';
import { TextInput } from '../../../components/text-input.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { useAction } from '../../../data/use-action.ts';
import { html } from '../../../html.ts';
import { PlanSelect } from './plan-select.ts';

interface CreateAccountDialogProps {
  onClose(): void;
  onCreated(made: Api.CreateAccountResult): void;
}

/** Makes an account with its first key. */
export function CreateAccountDialog({ onClose, onCreated }: CreateAccountDialogProps) {
  const [name, setName] = useState('');
  const [plan, setPlan] = useState('free');
  const [isTried, setTried] = useState(false);
  const create = useAction(async (signal) => {
    onCreated(await askOperator('createAccount', { body: { name, plan } }, signal));
  });
  const submit = (event: Event) => {
    event.preventDefault();
    setTried(true);
    if (name !== '') create.run();
  };
  return html`<${Dialog} title="New account" onClose=${onClose}>
    <form onSubmit=${submit} novalidate>
      <${TextInput} label="Name" value=${name} onInput=${setName} placeholder="Acme"
        hint="For people: whose account it is." error=${isTried && name === '' ? 'Give it a name.' : null} />
      <${PlanSelect} value=${plan} onChange=${setPlan} />
      <p class="hint">It gets a first key that may do everything in the account.</p>
      <${DialogFoot} act="Create" action=${create} onClose=${onClose} />
    </form>
  <//>`;
}
