import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { FailureNotice } from '../../../components/notice.ts';
import { numberText } from '../../../components/number-text.ts';
import { ask } from '../../../data/service.ts';
import { useAction } from '../../../data/use-action.ts';
import { html } from '../../../html.ts';
import { VerifyVerdict } from './verify-verdict.ts';

/** Time in ms between two looks at a verification that runs. */
const POLL_MS = 400;

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

type Progress = Api.Verification['progress'];

/** Verifies in the background and reports on it. Rejects if the verification failed. */
async function verify(name: string, report: (progress: Progress) => void, signal: AbortSignal) {
  let verification = await ask('beginVerification', { path: { name } }, signal);
  while (verification.state === 'running') {
    report(verification.progress);
    await pause(POLL_MS, signal);
    verification = await ask('getVerification', { path: { name, id: verification.id } }, signal);
  }
  if (verification.result === undefined) throw new Error(verification.error?.message ?? 'It ended without a verdict.');
  return verification.result;
}

/** Recomputes the root from the stored records, and shows what that says. */
export function VerifyPanel({ collection }: { collection: Api.CollectionDetail }) {
  const { name, vector_count } = collection;
  const [progress, setProgress] = useState<Progress | null>(null);
  const [verdict, setVerdict] = useState<Api.VerifyResult | null>(null);
  const run = useAction(async (signal) => {
    setProgress({ scanned: 0, total: vector_count });
    setVerdict(await verify(name, setProgress, signal));
  });
  if (verdict !== null && !run.isBusy)
    return html`<${VerifyVerdict} collection=${name} verdict=${verdict} onAgain=${() => run.run()} />
      <${FailureNotice} failure=${run.failure} />`;
  return html`<section class="card verify-panel">
    <div>
      <h2>Is it still what was written?</h2>
      <p>Verify hashes every stored record again and compares the root with the ledger. It names each record that differs.</p>
      ${run.isBusy && progress !== null && html`<${VerifyProgress} progress=${progress} />`}
      <${FailureNotice} failure=${run.failure} />
    </div>
    <${Button} kind="primary" isBusy=${run.isBusy} onClick=${() => run.run()}>Verify now<//>
  </section>`;
}

function VerifyProgress({ progress: { scanned, total } }: { progress: Progress }) {
  return html`<div class="progress">
    <progress value=${scanned} max=${Math.max(total, 1)} aria-label="Records hashed"></progress>
    <span>${numberText.whole(scanned)} of ${numberText.whole(total)}</span>
  </div>`;
}
