import type * as Api from '../../../../../../../client/api/generated.ts';
import { Notice } from '../../../components/notice.ts';
import { announce } from '../../../components/toast.ts';
import { TypedConfirmation } from '../../../components/typed-confirmation.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { html } from '../../../html.ts';

interface ResumeDialogProps {
  anchor: Api.AnchorOverview;
  onClose(): void;
  onResumed(): void;
}

/** Decides that what a halted collection holds is right, and anchors it. */
export function ResumeDialog({ anchor: { collection, collectionId }, onClose, onResumed }: ResumeDialogProps) {
  const name = collection?.slice(collection.indexOf('/') + 1) ?? collectionId;
  const resume = async (signal: AbortSignal) => {
    await askOperator('resumeAnchoring', { path: { collection: collectionId } }, signal);
    announce('Accepted the content. Its root goes to the ledger.', 'good');
    onClose();
    onResumed();
  };
  return html`<${TypedConfirmation} title="Accept the content" phrase=${name} act="Accept and anchor" perform=${resume}
    onClose=${onClose}>
    <p>
      This decides that what the shards of <strong><${VisibleText} value=${collection ?? collectionId} /></strong> hold
      now is right, and writes its root to the ledger. From then on, what was changed counts as genuine.
    </p>
    <${Notice} tone="waiting">The ledger keeps the earlier roots. The audit log keeps that you accepted.<//>
  <//>`;
}
