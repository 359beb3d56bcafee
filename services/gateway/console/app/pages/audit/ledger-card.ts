import type * as Api from '../../../../../../client/api/generated.ts';
import { LedgerLink } from '../../components/ledger-link.ts';
import { html } from '../../html.ts';

interface LedgerCardProps {
  ledger: Api.AuditView['ledger'];
  /** The collection's account; null if there is none. */
  address: string | null;
  collectionId: string;
}

/** Where to check what the service says. */
export function LedgerCard({ ledger: { authority, program, cluster }, address, collectionId }: LedgerCardProps) {
  const values: readonly (readonly [title: string, value: string | null])[] = [
    ['Account', address],
    ['Authority', authority],
    ['Program', program],
    ['Collection', collectionId],
  ];
  return html`<section class="card">
    <h2>Check it yourself</h2>
    <p>
      ${
        authority === null
          ? 'The ledger is off, so nobody but this service says what is on this page.'
          : 'This page shows what the service says. The ledger says it without the service: the account below holds the root, and only the authority can change it.'
      }
    </p>
    <dl class="facts">
      ${authority !== null && html`<dt>Ledger</dt><dd>${clusterText(cluster)}</dd>`}
      ${values.map(
        ([title, value]) =>
          value !== null &&
          html`<dt>${title}</dt><dd><${LedgerLink} value=${value} url=${null} isWhole what=${`the ${title.toLowerCase()}`} /></dd>`,
      )}
    </dl>
    ${
      authority !== null &&
      html`<p class="hint">
        The account’s address follows from the authority and the collection. Anyone with the records can compute the
        root from them, and a proof of one record ends in it.
      </p>`
    }
  </section>`;
}

const clusterText = (cluster: string): string =>
  cluster === 'custom' ? 'A Solana cluster of the service’s own choice' : `Solana, ${cluster}`;
