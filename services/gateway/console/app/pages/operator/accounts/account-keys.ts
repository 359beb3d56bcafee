import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { CreateKeyDialog } from '../../../components/create-key-dialog.ts';
import { KeyTable } from '../../../components/key-table.ts';
import { NewKey } from '../../../components/new-key.ts';
import { Notice } from '../../../components/notice.ts';
import { Paged } from '../../../components/paged.ts';
import { announce } from '../../../components/toast.ts';
import { TypedConfirmation, typablePhrase } from '../../../components/typed-confirmation.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { usePages } from '../../../data/use-pages.ts';
import { html } from '../../../html.ts';

const PAGE = 100;

interface AccountKeysProps {
  accountId: string;
  /** Loads the account again, which counts its keys. */
  reload(): void;
}

/** The keys of an account, as its owner sees them. */
export function AccountKeys({ accountId: id, reload }: AccountKeysProps) {
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<Api.NewApiKey | null>(null);
  const [revoked, setRevoked] = useState<Api.ApiKey | null>(null);
  const keys = usePages(
    (cursor, signal) =>
      askOperator('listAccountKeys', { path: { id }, query: { limit: PAGE, ...(cursor && { cursor }) } }, signal),
    [id],
  );
  const changed = () => {
    keys.reload();
    reload();
  };
  const make = async (body: Api.CreateKey, signal: AbortSignal) =>
    (await askOperator('createAccountKey', { path: { id }, body }, signal)).key;
  const created = (key: Api.NewApiKey) => {
    setCreating(false);
    setMade(key);
    changed();
  };
  const show = (pages: readonly Api.ListAccountKeysResult[]) => {
    const all = pages.flatMap((page) => page.keys);
    if (all.length === 0) return html`<p class="muted">The account has no key, so no program can use it.</p>`;
    return html`<${KeyTable} keys=${all} onRevoke=${setRevoked} />`;
  };
  return html`<section class="card">
    <div class="card-head"><h2>Keys</h2><${Button} onClick=${() => setCreating(true)}>New key<//></div>
    ${made !== null && html`<${NewKey} made=${made} onDone=${() => setMade(null)} />`}
    <${Paged} from=${keys} what="the keys" show=${show} />
    ${isCreating && html`<${CreateKeyDialog} make=${make} onClose=${() => setCreating(false)} onCreated=${created} />`}
    ${
      revoked !== null &&
      html`<${RevokeAccountKey} accountId=${id} apiKey=${revoked} onClose=${() => setRevoked(null)} onRevoked=${changed} />`
    }
  </section>`;
}

interface RevokeAccountKeyProps {
  accountId: string;
  apiKey: Api.ApiKey;
  onClose(): void;
  onRevoked(): void;
}

function RevokeAccountKey({ accountId, apiKey: { id, name, key_prefix }, onClose, onRevoked }: RevokeAccountKeyProps) {
  const phrase = typablePhrase(name, key_prefix);
  const revoke = async (signal: AbortSignal) => {
    await askOperator('revokeAccountKey', { path: { id: accountId, key: id } }, signal);
    announce('Revoked the key.');
    onClose();
    onRevoked();
  };
  return html`<${TypedConfirmation} title="Revoke this key" phrase=${phrase} act="Revoke the key" perform=${revoke}
    onClose=${onClose}>
    <p><strong><${VisibleText} value=${name} /></strong> <code>${key_prefix}…</code></p>
    <p>Programs of this account that use it are refused within a second. It cannot be undone.</p>
    ${phrase === key_prefix && html`<${Notice} tone="waiting">The name has characters that cannot be typed, so type its beginning.<//>`}
  <//>`;
}
