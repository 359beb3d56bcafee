/** Entry of the verifier as one file, which has the worker's script as text. */
import { render } from 'preact';
import { html } from '../html.ts';
import { applyTheme } from '../shell/theme.ts';
import { workerAddress } from '../shell/worker-address.ts';
import { VerifierPage } from './verifier-page.ts';

const script = document.getElementById('worker')!.textContent ?? '';
const address = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));

applyTheme();
const place = document.getElementById('console')!;
place.replaceChildren();
render(html`<${VerifierPage} startWorker=${() => new Worker(workerAddress(address))} fileUrl=${null} />`, place);
