import { useState } from 'preact/hooks';
import { Checkbox } from '../../../components/checkbox.ts';
import { Dialog } from '../../../components/dialog.ts';
import { DialogFoot } from '../../../components/dialog-foot.ts';
import { TextInput } from '../../../components/text-input.ts';
import { announce } from '../../../components/toast.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { useAction } from '../../../data/use-action.ts';
import { html } from '../../../html.ts';

interface StartBackupDialogProps {
  onClose(): void;
  onStarted(): void;
}

/** Starts a backup in the folder of the service. */
export function StartBackupDialog({ onClose, onStarted }: StartBackupDialogProps) {
  const [name, setName] = useState('');
  const [withoutSecrets, setWithoutSecrets] = useState(false);
  const start = useAction(async (signal) => {
    const body = { ...(name !== '' && { name }), withoutSecrets };
    const { backup } = await askOperator('startBackup', { body }, signal);
    announce(`Started the backup ${backup.name}.`);
    onStarted();
  });
  const submit = (event: Event) => {
    event.preventDefault();
    start.run();
  };
  return html`<${Dialog} title="Start a backup" onClose=${onClose}>
    <form onSubmit=${submit}>
      <${TextInput} label="Name" value=${name} onInput=${setName} placeholder="the time" isCode
        hint="Of its folder. Letters, digits, and between them . _ and -" />
      <${Checkbox} label="Leave out the secrets" checked=${withoutSecrets} onChange=${setWithoutSecrets}
        hint="The keypair that signs roots, and the secret that seals rows. Keep them elsewhere: a service without them cannot go on." />
      <${DialogFoot} act="Start" action=${start} onClose=${onClose} />
    </form>
  <//>`;
}
