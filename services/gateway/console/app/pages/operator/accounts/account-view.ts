import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { CopyButton } from '../../../components/copy-button.ts';
import { Loadable } from '../../../components/loadable.ts';
import { Measures, MONTHLY_MEASURES, STORED_MEASURES } from '../../../components/measures.ts';
import { FailureNotice, Notice } from '../../../components/notice.ts';
import { numberText } from '../../../components/number-text.ts';
import { Time } from '../../../components/time.ts';
import { announce } from '../../../components/toast.ts';
import { TypedConfirmation, typablePhrase } from '../../../components/typed-confirmation.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { useAction } from '../../../data/use-action.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';
import { goTo, hrefOf } from '../../../shell/route.ts';
import { AccountKeys } from './account-keys.ts';
import { PlanSelect } from './plan-select.ts';

interface AccountProps {
  account: Api.Account;
  reload(): void;
}

/** One account: what it uses, its plan, its keys, and its end. */
export function AccountView({ id }: { id: string }) {
  const loaded = useData((signal) => askOperator('getAccount', { path: { id } }, signal), [id]);
  const show = ({ account }: Api.GetAccountResult) => html`<${AccountHead} account=${account} />
    <div class="split split-even">
      <${UsageCard} account=${account} />
      <${PlanCard} account=${account} reload=${loaded.reload} />
    </div>
    <${AccountKeys} accountId=${id} reload=${loaded.reload} />
    <${DeletionCard} account=${account} reload=${loaded.reload} />`;
  return html`<a class="back" href=${hrefOf(['operator', 'accounts'])}>← All accounts</a>
    <${Loadable} from=${loaded} what="the account" show=${show} />`;
}

function AccountHead({ account: { id, name, created_at: created } }: { account: Api.Account }) {
  return html`<header class="account-head">
    <h2><${VisibleText} value=${name} max=${80} /></h2>
    <p class="about">
      <span><code>${id}</code> <${CopyButton} text=${id} what="the account’s id" /></span>
      <span>Since <${Time} at=${created} isDay /></span>
      <a href=${hrefOf(['operator', 'audit'], { account: id })}>Audit log</a>
    </p>
  </header>`;
}

function UsageCard({ account: { usage } }: { account: Api.Account }) {
  return html`<section class="card">
    <h2>Usage</h2>
    ${usage !== undefined && html`<${Measures} usage=${usage} measures=${[...STORED_MEASURES, ...MONTHLY_MEASURES]} />`}
  </section>`;
}

function PlanCard({ account, reload }: AccountProps) {
  const [plan, setPlan] = useState(account.plan);
  const change = useAction(async (signal) => {
    await askOperator('changePlan', { path: { id: account.id }, body: { plan } }, signal);
    announce(`The account is on the plan ${plan}.`, 'good');
    reload();
  });
  return html`<section class="card">
    <h2>Plan</h2>
    <p class="muted">On <strong>${account.plan}</strong>. Another plan takes effect within half a second. An account that has more than its new plan allows keeps it, and gets no more.</p>
    <${PlanSelect} value=${plan} onChange=${setPlan} />
    <${FailureNotice} failure=${change.failure} />
    <${Button} disabled=${plan === account.plan} isBusy=${change.isBusy} onClick=${() => change.run()}>Change the plan<//>
  </section>`;
}

function DeletionCard({ account, reload }: AccountProps) {
  const [isDeleting, setDeleting] = useState(false);
  const { id, name, usage } = account;
  const remove = async (signal: AbortSignal) => {
    await askOperator('deleteAccount', { path: { id } }, signal);
    announce('Deleted the account.');
    goTo(hrefOf(['operator', 'accounts']));
  };
  const { collection_count: collections, vector_count: vectors } = usage!.usage;
  const content = `${numberText.count(collections, 'collection')} and ${numberText.count(vectors, 'vector')}`;
  const open = () => {
    // What is deleted may be more than when the page was loaded.
    reload();
    setDeleting(true);
  };
  return html`<section class="card">
    <div class="card-head">
      <div>
        <h2>Delete this account</h2>
        <p class="muted">Deletes its collections and records, and revokes its keys.</p>
      </div>
      <${Button} onClick=${open}>Delete…<//>
    </div>
    ${
      isDeleting &&
      html`<${TypedConfirmation} title="Delete this account" phrase=${typablePhrase(name, id)} act="Delete the account"
        perform=${remove} onClose=${() => setDeleting(false)}>
        <p>
          This deletes <strong><${VisibleText} value=${name} max=${80} /></strong> with ${content}, and revokes its keys.
          It cannot be undone.
        </p>
        ${
          typablePhrase(name, id) === id &&
          html`<${Notice} tone="waiting">The name has characters that cannot be typed, so type the id.<//>`
        }
      <//>`
    }
  </section>`;
}
