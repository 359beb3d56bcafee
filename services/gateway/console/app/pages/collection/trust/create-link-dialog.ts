import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Dialog } from '../../../components/dialog.ts';
import { DialogFoot } from '../../../components/dialog-foot.ts';
import { Select } from '../../../components/select.ts';
import { TextInput } from '../../../components/text-input.ts';
import { expiryIn } from '../../../data/expiry.ts';
import { ask } from '../../../data/service.ts';
import { useAction } from '../../../data/use-action.ts';
import { html } from '../../../html.ts';

const LABEL_MAX = 64;
const LIVES = { 7: 'In 7 days', 30: 'In 30 days', 90: 'In 90 days', 365: 'In a year', '': 'Never' };

interface CreateLinkDialogProps {
  collection: string;
  onClose(): void;
  onCreated(link: Api.NewAuditLink): void;
}

/** Makes a link for an auditor or for the public. */
export function CreateLinkDialog({ collection, onClose, onCreated }: CreateLinkDialogProps) {
  const [label, setLabel] = useState('');
  const [days, setDays] = useState('90');
  const create = useAction(async (signal) => {
    const body = { expiresAt: expiryIn(days), ...(label !== '' && { label }) };
    const { link } = await ask('createAuditLink', { path: { name: collection }, body }, signal);
    onCreated(link);
  });
  const fault = [...label].length > LABEL_MAX ? `At most ${LABEL_MAX} characters.` : null;
  const submit = (event: Event) => {
    event.preventDefault();
    if (fault === null) create.run();
  };
  return html`<${Dialog} title="New audit link" onClose=${onClose}>
    <form onSubmit=${submit} novalidate>
      <${TextInput} label="Label" value=${label} onInput=${setLabel} placeholder="For our auditors"
        hint="Optional. Everyone who has the link sees it." error=${fault} />
      <${Select} label="Expires" value=${days} options=${LIVES} onChange=${setDays}
        hint="You can revoke it before." />
      <${DialogFoot} act="Create" action=${create} onClose=${onClose} />
    </form>
  <//>`;
}
