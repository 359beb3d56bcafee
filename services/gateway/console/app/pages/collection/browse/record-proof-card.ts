import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import type { RecordProof } from '../../../../../../../client/verify/record-proof.ts';
import { Button } from '../../../components/button.ts';
import { FailureNotice, Notice } from '../../../components/notice.ts';
import { numberText } from '../../../components/number-text.ts';
import { RootFingerprint } from '../../../components/root-fingerprint.ts';
import { useAction } from '../../../data/use-action.ts';
import { type Child, html } from '../../../html.ts';
import { offerHandover } from '../../../verifier/handover.ts';
import { checkedProof, type ProofVerdict } from './checked-proof.ts';
import { ProofSteps } from './proof-steps.ts';
import type { RecordPlace } from './record-place.ts';

/** Ids that a shell takes as they are. */
const PLAIN_ID = /^[\w.-]{1,40}$/;

interface RecordProofCardProps extends RecordPlace {
  /** What the page shows; null if there is no such record. */
  record: Api.StoredRecord | null;
}

/** Proves a record in this browser, with the verifier that clients use. */
export function RecordProofCard(props: RecordProofCardProps) {
  const [verdict, setVerdict] = useState<ProofVerdict | null>(null);
  const prove = useAction(async (signal) => setVerdict(await checkedProof(props, props.record, signal)));
  return html`<div class=${`card proof-card ${verdict === null ? '' : 'fault' in verdict ? 'proof-bad' : 'proof-good'}`}>
    <h3>Proof</h3>
    <div aria-live="polite">${shownVerdict(verdict, props)}</div>
    <${FailureNotice} failure=${prove.failure} />
    <${Button} kind=${verdict === null ? 'primary' : 'plain'} isBusy=${prove.isBusy} onClick=${() => prove.run()}>
      ${verdict === null ? 'Prove it here' : 'Prove it again'}
    <//>
  </div>`;
}

function shownVerdict(verdict: ProofVerdict | null, { id, record, collection }: RecordProofCardProps): Child {
  if (verdict === null)
    return html`<p>
      A proof of about a kilobyte ties this record to the root of all ${numberText.count(collection.vector_count, 'record')}.
      This browser checks it, not the service.
    </p>`;
  if ('fault' in verdict)
    return html`<${Notice} tone="bad">
      <strong>Not proven.</strong> ${verdict.fault} If someone wrote the record meanwhile, open it again.
    <//>`;
  return html`<${ProofSteps} checked=${verdict} hasContent=${record !== null} />
    <${RootFingerprint} root=${verdict.proof.merkleRoot} isWhole what="the root" />
    <${Take} proof=${verdict.proof} id=${id} record=${record} />`;
}

/** Hands the proof out, and says how to check it without this service. */
function Take({ proof, id, record }: { proof: RecordProof; id: string; record: Api.StoredRecord | null }) {
  const offer = (event: Event) => {
    const { values, metadata } = record ?? {};
    const texts = {
      proof: JSON.stringify({ proof }, null, 2),
      record: record === null ? '' : JSON.stringify({ id, values, metadata }),
    };
    (event.currentTarget as HTMLAnchorElement).href = `verify/${offerHandover(texts)}`;
  };
  const save = () => {
    const link = document.createElement('a');
    const href = URL.createObjectURL(new Blob([JSON.stringify({ proof })], { type: 'application/json' }));
    link.href = href;
    link.download = 'proof.json';
    link.click();
    URL.revokeObjectURL(href);
  };
  return html`<p class="hint">
    To check it without this service, <a href="verify/" target="_blank" rel="noopener" onClick=${offer}>give it to the verifier</a>,
    which asks the ledger of your choice. Or <button type="button" class="more" onClick=${save}>save proof.json</button> and run${' '}
    <code>provec-verify proof.json --id ${PLAIN_ID.test(id) ? id : '…'}</code>.
  </p>`;
}
