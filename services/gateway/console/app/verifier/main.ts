/** Entry of the verifier: its page, as the gateway serves it. */
import { render } from 'preact';
import { html } from '../html.ts';
import { applyTheme } from '../shell/theme.ts';
import { workerAddress } from '../shell/worker-address.ts';
import { VerifierPage } from './verifier-page.ts';

const WORKER = new URL('./worker.ts', import.meta.url).href;

applyTheme();
const place = document.getElementById('console')!;
place.replaceChildren();
render(
  html`<${VerifierPage} startWorker=${() => new Worker(workerAddress(WORKER))} fileUrl="provec-verify.html" />`,
  place,
);
