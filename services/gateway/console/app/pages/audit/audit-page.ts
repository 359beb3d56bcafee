import { useEffect } from 'preact/hooks';
import type * as Api from '../../../../../../client/api/generated.ts';
import { APIStatusError } from '../../../../../../client/http/errors.ts';
import { AnchorCard } from '../../components/anchor-card.ts';
import { AnchorHistory } from '../../components/anchor-history.ts';
import { Button } from '../../components/button.ts';
import { EmptyState } from '../../components/empty-state.ts';
import { Loadable } from '../../components/loadable.ts';
import { PageHead } from '../../components/page-head.ts';
import { RootCard } from '../../components/root-card.ts';
import { Time } from '../../components/time.ts';
import { askOpenly } from '../../data/service.ts';
import { useSession } from '../../data/session.ts';
import { useData } from '../../data/use-data.ts';
import { html } from '../../html.ts';
import { Brand } from '../../shell/brand.ts';
import { hrefOf } from '../../shell/route.ts';
import { ThemeSelect } from '../../shell/theme-select.ts';
import { LedgerCard } from './ledger-card.ts';

type View = Api.AuditView;

const PAGE = 100;
/** Characters and length of a path segment that can be a token. */
const TOKEN = /^[\w-]{1,1024}$/;

const viewAt = (token: string, cursor: string | undefined, signal: AbortSignal): Promise<View> =>
  askOpenly('getAudit', { path: { token }, query: { limit: PAGE, ...(cursor !== undefined && { cursor }) } }, signal);

/** Returns what a link shows, and when it did; null if the service knows no such link. */
async function lookAt(token: string, signal: AbortSignal) {
  if (!TOKEN.test(token)) return null;
  try {
    return { view: await viewAt(token, undefined, signal), at: new Date().toISOString() };
  } catch (error) {
    if (error instanceof APIStatusError && error.status === 404) return null;
    throw error;
  }
}

/** What an audit link shows to anyone who has it, with or without a key. */
export default function AuditPage({ token }: { token: string }) {
  const { key } = useSession();
  const loaded = useData((signal) => lookAt(token, signal), [token]);
  useEffect(() => {
    document.title = 'Audit · Provec';
  }, []);
  return html`<div class="public">
    <header class="public-head">
      <${Brand} />
      ${key !== null && html`<a href=${hrefOf([])}>Back to the console</a>`}
      <${ThemeSelect} />
    </header>
    <main id="main">
      <${Loadable} from=${loaded} what="the audit" isPage
        show=${(found: Awaited<ReturnType<typeof lookAt>>) =>
          found === null
            ? html`<${NoLink} />`
            : html`<${Audit} token=${token} ...${found} reload=${loaded.reload} />`} />
    </main>
  </div>`;
}

/** A link that never was, or no longer is. The service gives the same answer for both. */
function NoLink() {
  return html`<${EmptyState} isPage title="This link shows nothing" icon="lock">
    <p>
      It was revoked, it has expired, its collection was deleted, or a part of the address is missing. Ask the person
      who gave it to you for a new one.
    </p>
  <//>`;
}

interface AuditProps {
  token: string;
  view: View;
  at: string;
  reload(): void;
}

function Audit({ token, view, at, reload }: AuditProps) {
  const { label, expiresAt, merkleRoot, version, vectorCount, anchor, ledger, history } = view;
  const about = html`<span>Roots and counts of one collection, without its data.</span>
    <span>As of <${Time} at=${at} /></span>
    ${expiresAt !== null && html`<span>Link valid until <${Time} at=${expiresAt} /></span>`}`;
  const more = async (cursor: string, signal: AbortSignal) => (await viewAt(token, cursor, signal)).history;
  return html`<${PageHead} title=${label ?? 'Audit of a collection'} about=${about}>
      <${Button} onClick=${reload}>Refresh<//>
    <//>
    <div class="split-even split">
      <${RootCard} root=${merkleRoot} version=${version} count=${vectorCount} />
      <${AnchorCard} anchor=${anchor} version=${version} />
    </div>
    <${LedgerCard} ledger=${ledger} address=${anchor.ledgerAddress} collectionId=${view.collectionId} />
    <${AnchorHistory} key=${history.anchors[0]?.position} first=${history} more=${more} />`;
}
