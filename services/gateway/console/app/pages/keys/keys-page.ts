import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../client/api/generated.ts';
import { Button } from '../../components/button.ts';
import { CreateKeyDialog } from '../../components/create-key-dialog.ts';
import { Dialog } from '../../components/dialog.ts';
import { DialogFoot } from '../../components/dialog-foot.ts';
import { KeyTable } from '../../components/key-table.ts';
import { Loadable } from '../../components/loadable.ts';
import { NewKey } from '../../components/new-key.ts';
import { Notice } from '../../components/notice.ts';
import { PageHead } from '../../components/page-head.ts';
import { announce } from '../../components/toast.ts';
import { VisibleText } from '../../components/visible-text.ts';
import { ask } from '../../data/service.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { useData } from '../../data/use-data.ts';
import { html } from '../../html.ts';

const make = async (body: Api.CreateKey, signal: AbortSignal) => (await ask('createKey', { body }, signal)).key;

/** The account's API keys. */
export default function KeysPage() {
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<Api.NewApiKey | null>(null);
  const [revoked, setRevoked] = useState<Api.ApiKey | null>(null);
  const { scopes } = useSession();
  const keys = useData((signal) => ask('listKeys', { query: {} }, signal), []);
  const created = (key: Api.NewApiKey) => {
    setCreating(false);
    setMade(key);
    keys.reload();
  };
  const gone = () => {
    setRevoked(null);
    keys.reload();
  };
  return html`<${PageHead} title="Keys" about="Programs and people use them to reach this account.">
      <${Button} kind="primary" disabled=${!scopes.manage} onClick=${() => setCreating(true)}>New key<//>
    <//>
    ${made !== null && html`<${NewKey} made=${made} onDone=${() => setMade(null)} />`}
    <${Loadable}
      from=${keys}
      what="keys"
      show=${(page: Api.ListKeysResult) => html`<${KeyTable} keys=${page.keys} onRevoke=${setRevoked} />`}
    />
    ${isCreating && html`<${CreateKeyDialog} make=${make} onClose=${() => setCreating(false)} onCreated=${created} />`}
    ${revoked !== null && html`<${RevokeDialog} apiKey=${revoked} onClose=${() => setRevoked(null)} onRevoked=${gone} />`}`;
}

interface RevokeDialogProps {
  apiKey: Api.ApiKey;
  onClose(): void;
  onRevoked(): void;
}

function RevokeDialog({ apiKey: { id, name, key_prefix }, onClose, onRevoked }: RevokeDialogProps) {
  const { key } = useSession();
  const isOwn = key?.startsWith(key_prefix) === true;
  const revoke = useAction(async (signal) => {
    await ask('revokeKey', { path: { id } }, signal);
    announce('Revoked the key.');
    onRevoked();
  });
  return html`<${Dialog} title="Revoke this key" onClose=${onClose}>
    <p><strong><${VisibleText} value=${name} /></strong> <code>${key_prefix}…</code></p>
    <p>Programs that use it are refused within a second. It cannot be undone.</p>
    ${isOwn && html`<${Notice} tone="waiting">You are signed in with this key, so this signs you out.<//>`}
    <${DialogFoot} act="Revoke" action=${revoke} kind="danger" onClose=${onClose} onAct=${() => revoke.run()} />
  <//>`;
}
