import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { Icon, type IconName } from '../../../components/icon.ts';
import { numberText } from '../../../components/number-text.ts';
import { RootFingerprint } from '../../../components/root-fingerprint.ts';
import { type Column, Table } from '../../../components/table.ts';
import { Time } from '../../../components/time.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { html } from '../../../html.ts';
import { RecordLink } from '../record-link.ts';

interface Words {
  tone: 'good' | 'bad' | 'waiting';
  icon: IconName;
  title: string;
  text: string;
}

const WORDS: Readonly<Record<Api.VerifyResult['state'], Words>> = {
  match: {
    tone: 'good',
    icon: 'check',
    title: 'Verified',
    text: 'The stored records give exactly the root on the ledger. Nothing was changed, lost or added.',
  },
  mismatch: {
    tone: 'bad',
    icon: 'warning',
    title: 'This is not what was written',
    text: 'The stored records do not give the root that was recorded.',
  },
  pending: {
    tone: 'waiting',
    icon: 'clock',
    title: 'Sound, and waiting for the ledger',
    text: 'The stored records give the root that was recorded. The ledger does not hold it yet.',
  },
  unreachable: {
    tone: 'waiting',
    icon: 'clock',
    title: 'The ledger cannot be reached',
    text: 'The stored records were hashed. There is nothing to compare their root with right now.',
  },
  none: {
    tone: 'waiting',
    icon: 'clock',
    title: 'Nothing to compare yet',
    text: 'The collection was never written to, so the ledger has no root of it.',
  },
  not_anchored: {
    tone: 'waiting',
    icon: 'clock',
    title: 'Sound, but not on a ledger',
    text: 'The stored records give the root that was recorded. Without a ledger, only this service says so.',
  },
};

interface VerifyVerdictProps {
  collection: string;
  verdict: Api.VerifyResult;
  onAgain(): void;
}

/** What a verification found; a mismatch leads to the records that it names. */
export function VerifyVerdict({ collection, verdict, onAgain }: VerifyVerdictProps) {
  const { state, reason, checkedAt, computedRoot, onChainRoot, differences = [], vectorCount } = verdict;
  const { tone, icon, title, text } = WORDS[state];
  return html`<section class=${`card verdict verdict-${tone}`} role=${tone === 'bad' ? 'alert' : 'status'}>
    <div class="verdict-seal"><${Icon} name=${icon} /></div>
    <div class="verdict-body">
      <h2>${title}</h2>
      <p>${text}${reason !== undefined && html` <span>${reason}</span>`}</p>
      <div class="roots">
        <div><h3>Computed now</h3><${RootFingerprint} root=${computedRoot} isWhole what="the computed root" /></div>
        ${
          onChainRoot !== null &&
          html`<span class="roots-sign">${onChainRoot === computedRoot ? '=' : '≠'}</span>
            <div><h3>On the ledger</h3><${RootFingerprint} root=${onChainRoot} isWhole what="the root on the ledger" /></div>`
        }
      </div>
      ${differences.length > 0 && html`<${Differences} collection=${collection} differences=${differences} />`}
      <p class="verdict-foot">
        <span>${numberText.count(vectorCount, 'record')}, <${Time} at=${checkedAt} /></span>
        <${Button} onClick=${onAgain}>Verify again<//>
      </p>
    </div>
  </section>`;
}

type Difference = NonNullable<Api.VerifyResult['differences']>[number];

function Differences({ collection, differences }: { collection: string; differences: readonly Difference[] }) {
  const columns: readonly Column<Difference>[] = [
    {
      title: 'Record',
      cell: ({ id, namespace }) =>
        html`<${RecordLink} collection=${collection} id=${id} ...${namespace !== undefined && { namespace }} />`,
    },
    { title: 'What differs', cell: ({ what }) => html`<${VisibleText} value=${what} />` },
  ];
  return html`<h3>${numberText.count(differences.length, 'record')} ${differences.length === 1 ? 'differs' : 'differ'}</h3>
    <${Table}
      label="Records that differ"
      columns=${columns}
      rows=${differences}
      keyOf=${({ id, namespace = '' }: Difference) => `${namespace}\0${id}`}
    />`;
}
