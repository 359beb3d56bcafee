import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Badge } from '../../../components/badge.ts';
import { Button } from '../../../components/button.ts';
import { Loadable } from '../../../components/loadable.ts';
import { type Column, Table } from '../../../components/table.ts';
import { Time } from '../../../components/time.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { ask } from '../../../data/service.ts';
import { useSession } from '../../../data/session.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';
import { CreateLinkDialog } from './create-link-dialog.ts';
import { NewLink } from './new-link.ts';
import { RevokeLinkDialog } from './revoke-link-dialog.ts';

/** Links that show the roots of a collection to people without a key. */
export function AuditLinks({ collection }: { collection: string }) {
  const { scopes } = useSession();
  return html`<section class="card">
    <h2>Audit links</h2>
    <p>
      A link shows anyone the root, the number of records, and every root on the ledger with its time. It shows no
      records, no names and no keys.
    </p>
    ${
      scopes.manage
        ? html`<${ManagedLinks} collection=${collection} />`
        : html`<p class="muted">This key may not hand out links. That takes the scope <code>manage</code>.</p>`
    }
  </section>`;
}

function ManagedLinks({ collection }: { collection: string }) {
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<Api.NewAuditLink | null>(null);
  const [revoked, setRevoked] = useState<Api.AuditLink | null>(null);
  const loaded = useData((signal) => ask('listAuditLinks', { path: { name: collection } }, signal), [collection]);
  const created = (link: Api.NewAuditLink) => {
    setCreating(false);
    setMade(link);
    loaded.reload();
  };
  const gone = ({ id }: Api.AuditLink) => {
    setRevoked(null);
    if (made?.id === id) setMade(null);
    loaded.reload();
  };
  const show = ({ links }: Api.ListAuditLinksResult) => html`
    ${
      links.length === 0
        ? html`<p class="muted">No link was handed out yet.</p>`
        : html`<${LinkTable} links=${links} onRevoke=${setRevoked} />`
    }
    <div class="more-row"><${Button} onClick=${() => setCreating(true)}>New audit link<//></div>
  `;
  return html`${made !== null && html`<${NewLink} made=${made} onDone=${() => setMade(null)} />`}
    <${Loadable} from=${loaded} what="audit links" show=${show} />
    ${
      isCreating &&
      html`<${CreateLinkDialog} collection=${collection} onClose=${() => setCreating(false)} onCreated=${created} />`
    }
    ${
      revoked !== null &&
      html`<${RevokeLinkDialog} collection=${collection} link=${revoked} onClose=${() => setRevoked(null)} onRevoked=${gone} />`
    }`;
}

interface LinkTableProps {
  links: readonly Api.AuditLink[];
  onRevoke(link: Api.AuditLink): void;
}

function LinkTable({ links, onRevoke }: LinkTableProps) {
  const columns: readonly Column<Api.AuditLink>[] = [
    {
      title: 'Label',
      cell: ({ label }) =>
        label === null ? html`<span class="muted">none</span>` : html`<${VisibleText} value=${label} max=${40} />`,
    },
    { title: 'Created', isExtra: true, cell: ({ createdAt }) => html`<${Time} at=${createdAt} />` },
    { title: 'Expires', cell: ({ expiresAt }) => html`<${Expiry} at=${expiresAt} />` },
    {
      title: 'Actions',
      isNumber: true,
      cell: (link) =>
        html`<${Button} kind="quiet" label=${`Revoke ${link.label ?? 'the link without a label'}`}
          onClick=${() => onRevoke(link)}>Revoke<//>`,
    },
  ];
  return html`<${Table} label="Audit links" columns=${columns} rows=${links} keyOf=${({ id }: Api.AuditLink) => id} />`;
}

function Expiry({ at }: { at: string | null }) {
  if (at === null) return html`<span class="muted">never</span>`;
  if (Date.parse(at) > Date.now()) return html`<${Time} at=${at} />`;
  return html`<span title=${at}><${Badge} tone="neutral">Expired<//></span>`;
}
