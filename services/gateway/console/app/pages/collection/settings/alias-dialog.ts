import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Dialog } from '../../../components/dialog.ts';
import { DialogFoot } from '../../../components/dialog-foot.ts';
import { Notice } from '../../../components/notice.ts';
import { TextInput } from '../../../components/text-input.ts';
import { ask } from '../../../data/service.ts';
import { useAction } from '../../../data/use-action.ts';
import { html } from '../../../html.ts';

interface AliasDialogProps {
  collection: string;
  /** All aliases of the account. */
  aliases: readonly Api.Alias[];
  onClose(): void;
  onDone(text: string): void;
}

/** Points an alias to the collection: a new one, or one that points elsewhere. */
export function AliasDialog({ collection, aliases, onClose, onDone }: AliasDialogProps) {
  const [alias, setAlias] = useState('');
  const elsewhere = aliases.find((one) => one.alias === alias && one.collection !== collection);
  const put = useAction(async (signal) => {
    await ask('putAlias', { path: { alias }, body: { collection } }, signal);
    onDone(`${alias} points to ${collection}.`);
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (alias !== '') put.run();
  };
  return html`<${Dialog} title="New alias" onClose=${onClose}>
    <form onSubmit=${submit}>
      <${TextInput} label="Alias" value=${alias} onInput=${setAlias} placeholder="live" isCode
        suggestions=${aliases.filter((one) => one.collection !== collection).map((one) => one.alias)}
        hint=${`It will be another name of ${collection}.`} />
      ${
        elsewhere !== undefined &&
        html`<${Notice} tone="waiting">
          This alias points to <strong>${elsewhere.collection}</strong>. Requests that use it go to
          <strong> ${collection}</strong> from now on.
        <//>`
      }
      <${DialogFoot} act=${elsewhere === undefined ? 'Create' : 'Point it here'} action=${put} disabled=${alias === ''}
        onClose=${onClose} />
    </form>
  <//>`;
}
