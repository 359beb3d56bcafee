import type * as Api from '../../../../../../../client/api/generated.ts';
import { Notice } from '../../../components/notice.ts';
import { numberText } from '../../../components/number-text.ts';
import { announce } from '../../../components/toast.ts';
import { TypedConfirmation } from '../../../components/typed-confirmation.ts';
import { ask } from '../../../data/service.ts';
import { html } from '../../../html.ts';
import { goTo, hrefOf } from '../../../shell/route.ts';

interface DeleteDialogProps {
  collection: Api.CollectionDetail;
  onClose(): void;
}

/** Deletes a collection once its name was typed. */
export function DeleteDialog({ collection: { name, vector_count, deletionProtection }, onClose }: DeleteDialogProps) {
  const remove = async (signal: AbortSignal) => {
    await ask('deleteCollection', { path: { name } }, signal);
    announce(`Deleted ${name}.`);
    goTo(hrefOf(['collections']));
  };
  return html`<${TypedConfirmation} title=${`Delete ${name}`} phrase=${name} act="Delete the collection"
    isBarred=${deletionProtection} perform=${remove} onClose=${onClose}>
    <p>
      This deletes the collection with ${numberText.count(vector_count, 'vector')}, and closes its account on the
      ledger. It cannot be undone.
    </p>
    ${
      deletionProtection &&
      html`<${Notice} tone="waiting">The collection is protected from deletion. Its settings change that.<//>`
    }
  <//>`;
}
