import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { EmptyState } from '../../../components/empty-state.ts';
import { Loadable } from '../../../components/loadable.ts';
import { Notice } from '../../../components/notice.ts';
import { numberText } from '../../../components/number-text.ts';
import { TextInput } from '../../../components/text-input.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';
import { goTo, hrefOf, type PageRoute } from '../../../shell/route.ts';
import { EntryTable } from './entry-table.ts';

/** Entries of a page. */
const PAGE = 50;

/** Who changed what, the newest first: with the operator's token, or with an account's keys. */
export default function AuditLogTab({ route }: { route: PageRoute }) {
  const account = route.query.get('account') ?? '';
  return html`<${AccountFilter} key=${`filter ${account}`} account=${account} />
    <${Trail} key=${account} account=${account} />`;
}

/** Returns the entries before `end`; the newest ones if it is null. */
async function entriesBefore(account: string, end: number | null, signal: AbortSignal): Promise<Api.AuditEntries> {
  const page = (after: number, limit: number) => {
    const query = { limit, cursor: `${after}`, ...(account !== '' && { account }) };
    return askOperator('listAllAuditEntries', { query }, signal);
  };
  // The trail is listed from the oldest entry on; its head says where it ends.
  const last = end === null ? ((await page(0, 1)).head?.seq ?? 0) : end - 1;
  const after = Math.max(0, last - PAGE);
  return page(after, Math.max(1, last - after));
}

function Trail({ account }: { account: string }) {
  const [end, setEnd] = useState<number | null>(null);
  const trail = useData((signal) => entriesBefore(account, end, signal), [account, end]);
  const show = ({ entries, head }: Api.AuditEntries) => {
    if (entries.length === 0) return html`<${EmptyState} title="Nothing was changed yet" />`;
    const [oldest, newest] = [entries[0]!.seq, entries.at(-1)!.seq];
    const faults = entries.filter(({ fault }) => fault !== undefined);
    return html`${
      faults.length > 0 &&
      html`<div class="alerts"><${Notice} tone="bad"><strong>This log was changed in the store.</strong> ${numberText.count(faults.length, 'entry', 'entries')} below ${faults.length === 1 ? 'is' : 'are'} not what the service wrote.<//></div>`
    }
      <${EntryTable} entries=${entries} />
      <div class="more-row">
        <span class="muted">Entries ${numberText.whole(oldest)} to ${numberText.whole(newest)} of ${numberText.whole(head?.seq ?? newest)}</span>
        <span class="button-row">
          ${end !== null && html`<${Button} onClick=${() => setEnd(null)}>Newest<//>`}
          ${oldest > 1 && html`<${Button} onClick=${() => setEnd(oldest)}>Earlier<//>`}
        </span>
      </div>`;
  };
  return html`<${Loadable} from=${trail} what="the audit log" show=${show} />`;
}

function AccountFilter({ account }: { account: string }) {
  const [text, setText] = useState(account);
  const submit = (event: Event) => {
    event.preventDefault();
    const wanted = text.trim();
    goTo(hrefOf(['operator', 'audit'], wanted === '' ? {} : { account: wanted }));
  };
  return html`<form class="tab-head tab-filter" onSubmit=${submit}>
    <${TextInput} label="Account" value=${text} onInput=${setText} isCode placeholder="none: changes by the operator"
      hint="With the id of an account, also one that was deleted: changes by its keys." />
    <${Button} type="submit">Show<//>
  </form>`;
}
