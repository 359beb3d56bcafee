import type { FunctionComponent } from 'preact';
import { Button } from '../../components/button.ts';
import { EmptyState } from '../../components/empty-state.ts';
import { Lazy } from '../../components/lazy.ts';
import { PageHead } from '../../components/page-head.ts';
import { Tabs } from '../../components/tabs.ts';
import { endOperatorSession, useOperatorSession } from '../../data/operator-session.ts';
import { html } from '../../html.ts';
import { hrefOf, type PageRoute } from '../../shell/route.ts';
import { TokenForm } from './token-form.ts';

interface OperatorTab {
  /** Second segment of its addresses. */
  name: string;
  label: string;
  load(): Promise<{ default: FunctionComponent<{ route: PageRoute }> }>;
}

/** Every tab, in order. The first is where the operator's pages open. */
const TABS: readonly OperatorTab[] = [
  { name: 'overview', label: 'Overview', load: () => import('./overview/overview-tab.ts') },
  { name: 'accounts', label: 'Accounts', load: () => import('./accounts/accounts-tab.ts') },
  { name: 'plans', label: 'Plans', load: () => import('./plans/plans-tab.ts') },
  { name: 'collections', label: 'Collections', load: () => import('./collections/all-collections-tab.ts') },
  { name: 'nodes', label: 'Nodes', load: () => import('./nodes/nodes-tab.ts') },
  { name: 'shards', label: 'Shards', load: () => import('./shards/shards-tab.ts') },
  { name: 'anchoring', label: 'Anchoring', load: () => import('./anchoring/anchoring-tab.ts') },
  {
    name: 'verifications',
    label: 'Verifications',
    load: () => import('./verifications/verifications-tab.ts'),
  },
  { name: 'backups', label: 'Backups', load: () => import('./backups/backups-tab.ts') },
  { name: 'audit', label: 'Audit log', load: () => import('./audit/audit-log-tab.ts') },
];

/** What the operator of the service sees and does, with the operator's token. */
export default function OperatorPage({ route }: { route: PageRoute }) {
  const { hasToken } = useOperatorSession();
  if (!hasToken) return html`<${TokenForm} />`;
  const name = route.path[1] ?? TABS[0]!.name;
  const current = TABS.find((tab) => tab.name === name);
  const tabs = TABS.map((tab) => ({ ...tab, href: hrefOf(['operator', tab.name]) }));
  return html`<${PageHead} title="Operator" about="The whole service: every account, node and shard.">
      <${Button} onClick=${() => endOperatorSession(null)}>Forget the token<//>
    <//>
    <${Tabs} label="Parts of the service" current=${current?.name ?? ''} tabs=${tabs} />
    ${
      current === undefined
        ? html`<${EmptyState} title="There is no such page" />`
        : html`<${Lazy} key=${current.name} load=${current.load} props=${{ route }} />`
    }`;
}
