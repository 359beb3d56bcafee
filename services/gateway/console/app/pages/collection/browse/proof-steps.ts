import { Icon } from '../../../components/icon.ts';
import { numberText } from '../../../components/number-text.ts';
import { type Child, html } from '../../../html.ts';
import type { CheckedProof } from './checked-proof.ts';

/** What was checked, step by step. */
export function ProofSteps({ checked, hasContent }: { checked: CheckedProof; hasContent: boolean }) {
  const { proof, outcome, isAnchored } = checked;
  const title = outcome === 'present' ? 'Proven: this record is in the collection' : 'Proven: there is no such record';
  return html`<p class="proof-title"><${Icon} name="check" />${title}</p>
    <ol class="proof-steps">
      ${hasContent && html`<${Step} isDone>The vector and the metadata above have the hashes of the proof.<//>`}
      <${Step} isDone>
        ${numberText.count(proof.siblings.length, 'hash', 'hashes')} lead from ${outcome === 'present' ? 'the record' : 'its empty place'} to the root.
      <//>
      <${Step} isDone=${isAnchored}>
        ${
          isAnchored
            ? html`The service names a ledger entry for this root, as version ${numberText.whole(proof.version)}.`
            : html`Version ${numberText.whole(proof.version)} of the collection is not on the ledger yet.`
        }
      <//>
    </ol>`;
}

function Step({ isDone, children }: { isDone: boolean; children?: Child }) {
  return html`<li class=${isDone ? 'step-done' : 'step-open'}>
    <${Icon} name=${isDone ? 'check' : 'clock'} /><span>${children}</span>
  </li>`;
}
