import type * as Api from '../../../../../client/api/generated.ts';
import { useSession } from '../data/session.ts';
import { html } from '../html.ts';
import { Badge } from './badge.ts';
import { Button } from './button.ts';
import { type Column, Table } from './table.ts';
import { Time } from './time.ts';
import { VisibleText } from './visible-text.ts';

interface KeyTableProps {
  keys: readonly Api.ApiKey[];
  onRevoke(key: Api.ApiKey): void;
}

const ALL_SCOPES = 3;

/** Keys with what they may do and when they were last used. */
export function KeyTable({ keys, onRevoke }: KeyTableProps) {
  const { key: own } = useSession();
  const columns: readonly Column<Api.ApiKey>[] = [
    {
      title: 'Name',
      cell: ({ name, key_prefix }) => html`<span class="key-name">
        <${VisibleText} value=${name} max=${40} />
        ${own?.startsWith(key_prefix) === true && html` <${Badge} tone="neutral">This session<//>`}
      </span>`,
    },
    { title: 'Begins with', isExtra: true, cell: ({ key_prefix }) => html`<code>${key_prefix}…</code>` },
    {
      title: 'May',
      cell: ({ scopes }) => (scopes.length === ALL_SCOPES ? 'everything' : scopes.join(', ')),
    },
    {
      title: 'Last used',
      isExtra: true,
      cell: ({ last_used_at }) =>
        last_used_at === null ? html`<span class="muted">never</span>` : html`<${Time} at=${last_used_at} />`,
    },
    {
      title: 'Expires',
      isExtra: true,
      cell: ({ expires_at }) =>
        expires_at === null ? html`<span class="muted">never</span>` : html`<${Time} at=${expires_at} />`,
    },
    {
      title: 'Actions',
      isNumber: true,
      cell: (key) =>
        html`<${Button} kind="quiet" label=${`Revoke ${key.name}`} onClick=${() => onRevoke(key)}>Revoke<//>`,
    },
  ];
  return html`<${Table} label="Keys" columns=${columns} rows=${keys} keyOf=${({ id }: Api.ApiKey) => id} />`;
}
