import { TextInput } from '../components/text-input.ts';
import { html } from '../html.ts';

/** What a proof or an export must be about, as typed. */
export interface Expectation {
  collectionId: string;
  id: string;
  namespace: string;
  record: string;
  signature: string;
}

interface ExpectationFieldsProps {
  expectation: Expectation;
  onChange(change: Partial<Expectation>): void;
}

/** Asks for what to compare. Everything may stay empty. */
export function ExpectationFields({ expectation, onChange }: ExpectationFieldsProps) {
  const field = (name: keyof Expectation, label: string, hint: string, rows?: number) =>
    html`<${TextInput}
      label=${label}
      isCode
      rows=${rows}
      value=${expectation[name]}
      onInput=${(value: string) => onChange({ [name]: value })}
      hint=${hint}
    />`;
  return html`<section class="card" aria-labelledby="expectation-title">
    <h2 id="expectation-title">What it must be about</h2>
    <p class="hint">Each field may stay empty. What you leave empty is not compared.</p>
    ${field('collectionId', 'Collection id', 'From your own notes. A proof names its collection, but does not prove the name.')}
    <div class="field-row">
      ${field('id', 'Record id', 'Of a proof.')} ${field('namespace', 'Namespace', 'Of a proof; empty for the default one.')}
    </div>
    ${field('record', 'Record', 'Of a proof: {"values": […], "metadata": {…}}, which the record must have.', 3)}
    ${field('signature', 'Transaction', 'Of an export, if the collection has moved on: the one that anchored its root.')}
  </section>`;
}
