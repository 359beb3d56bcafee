import { useState } from 'preact/hooks';
import { Button } from '../../components/button.ts';
import { CodeBlock } from '../../components/code-block.ts';
import { Dialog } from '../../components/dialog.ts';
import { FailureNotice, Notice } from '../../components/notice.ts';
import { TextInput } from '../../components/text-input.ts';
import { type RawAnswer, sendRaw } from '../../data/raw-request.ts';
import { SERVICE_URL } from '../../data/service.ts';
import { useAction } from '../../data/use-action.ts';
import { html } from '../../html.ts';
import { AnswerView } from './answer-view.ts';
import type { ApiOperation } from './api-document.ts';
import { curlOf, type ReadyRequest, readyRequest } from './request-draft.ts';

/** A form that sends an operation with the key of this tab, and shows the request as a command. */
export function TryIt({ operation }: { operation: ApiOperation }) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [body, setBody] = useState(operation.body?.example ?? '');
  const [isAsking, setAsking] = useState(false);
  const [answer, setAnswer] = useState<RawAnswer | null>(null);
  const { request, fault, isMissing } = readyRequest(operation, { values, body });
  const send = useAction(async (signal, ready: ReadyRequest) => {
    setAsking(false);
    setAnswer(null);
    const keyHeader = operation.access === 'key' ? operation.keyHeader : null;
    setAnswer(await sendRaw({ ...ready, keyHeader }, signal));
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (request === null || operation.access === 'operator') return;
    if (operation.isChange) setAsking(true);
    else send.run(request);
  };
  const set = (name: string) => (value: string) => setValues((before) => ({ ...before, [name]: value }));
  return html`<form class="card" onSubmit=${submit} aria-label="Try it">
    <h3>Try it</h3>
    ${operation.parameters.map(
      ({
        name,
        in: place,
        required,
      }) => html`<${TextInput} key=${`${place} ${name}`} label=${required === true ? name : `${name} (optional)`}
        isCode value=${values[name] ?? ''} onInput=${set(name)} />`,
    )}
    ${operation.body !== null && html`<${TextInput} label="Body of the request" isCode rows=${6} value=${body} onInput=${setBody} />`}
    ${request !== null && html`<${CodeBlock} code=${curlOf(SERVICE_URL, request, operation)} what="the request" />`}
    ${
      operation.access === 'operator'
        ? html`<${Notice} tone="neutral">This needs the operator’s token, which this page does not have. Send the command yourself.<//>`
        : html`<div class="page-actions">
            <${Button} kind="primary" type="submit" disabled=${request === null} isBusy=${send.isBusy}>${operation.access === 'open' ? 'Send' : 'Send with my key'}<//>
            ${send.isBusy && html`<${Button} onClick=${send.reset}>Cancel<//>`}
          </div>`
    }
    <p class=${isMissing ? 'hint' : 'field-error'} aria-live="polite">${fault}</p>
    <${FailureNotice} failure=${send.failure} />
    <div aria-live="polite">${answer !== null && html`<${AnswerView} answer=${answer} />`}</div>
    ${
      isAsking &&
      request !== null &&
      html`<${Dialog} title="This changes data" onClose=${() => setAsking(false)}>
        <p>${operation.summary}: <code>${request.method} ${request.target}</code></p>
        <p>The service does it at once, on real data. It may not be possible to undo it.</p>
        <div class="dialog-foot">
          <${Button} onClick=${() => setAsking(false)}>Cancel<//>
          <${Button} kind="danger" onClick=${() => send.run(request)}>Do it<//>
        </div>
      <//>`
    }
  </form>`;
}
