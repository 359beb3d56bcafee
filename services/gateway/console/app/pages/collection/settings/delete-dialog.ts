import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../client/api/generated.ts';
import { Button } from '../../components/button.ts';
import { Dialog } from '../../components/dialog.ts';
import { FailureNotice, Notice } from '../../components/notice.ts';
import { numberText } from '../../components/number-text.ts';
import { TextInput } from '../../components/text-input.ts';
import { announce } from '../../components/toast.ts';
import { ask } from '../../data/service.ts';
import { useAction } from '../../data/use-action.ts';
import { html } from '../../html.ts';
import { goTo, hrefOf } from '../../shell/route.ts';

interface DeleteDialogProps {
  collection: Api.CollectionDetail;
  onClose(): void;
}

/** Deletes a collection once its name was typed. */
export function DeleteDialog({ collection: { name, vector_count, deletionProtection }, onClose }: DeleteDialogProps) {
  const [typed, setTyped] = useState('');
  const remove = useAction(async (signal) => {
    await ask('deleteCollection', { path: { name } }, signal);
    announce(`Deleted ${name}.`);
    goTo(hrefOf(['collections']));
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (typed === name) remove.run();
  };
  return html`<${Dialog} title=${`Delete ${name}`} onClose=${onClose}>
    <form onSubmit=${submit}>
      <p>
        This deletes the collection with ${numberText.count(vector_count, 'vector')}, and closes its account on the
        ledger. It cannot be undone.
      </p>
      ${deletionProtection && html`<${Notice} tone="waiting">The collection is protected from deletion.<//>`}
      <${TextInput} label=${`Type ${name} to confirm`} value=${typed} onInput=${setTyped} isCode />
      <${FailureNotice} failure=${remove.failure} />
      <div class="dialog-foot">
        <${Button} onClick=${onClose}>Cancel<//>
        <${Button} kind="danger" type="submit" disabled=${typed !== name || deletionProtection} isBusy=${remove.isBusy}>
          Delete the collection
        <//>
      </div>
    </form>
  <//>`;
}
