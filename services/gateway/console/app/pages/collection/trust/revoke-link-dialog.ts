import type * as Api from '../../../../../../../client/api/generated.ts';
import { Dialog } from '../../../components/dialog.ts';
import { DialogFoot } from '../../../components/dialog-foot.ts';
import { Time } from '../../../components/time.ts';
import { announce } from '../../../components/toast.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { ask } from '../../../data/service.ts';
import { useAction } from '../../../data/use-action.ts';
import { html } from '../../../html.ts';

interface RevokeLinkDialogProps {
  collection: string;
  link: Api.AuditLink;
  onClose(): void;
  onRevoked(link: Api.AuditLink): void;
}

/** Asks before a link ends. */
export function RevokeLinkDialog({ collection, link, onClose, onRevoked }: RevokeLinkDialogProps) {
  const { id, label, createdAt } = link;
  const revoke = useAction(async (signal) => {
    await ask('revokeAuditLink', { path: { name: collection, id } }, signal);
    announce('Revoked the audit link.');
    onRevoked(link);
  });
  return html`<${Dialog} title="Revoke this audit link" onClose=${onClose}>
    <p>
      <strong>${label === null ? 'A link without a label' : html`<${VisibleText} value=${label} />`}</strong>, created
      ${' '}<${Time} at=${createdAt} />
    </p>
    <p>Readers who open it from now on see that it is no longer valid. It cannot be undone.</p>
    <${DialogFoot} act="Revoke" action=${revoke} kind="danger" onClose=${onClose} onAct=${() => revoke.run()} />
  <//>`;
}
