import { useId, useState } from 'preact/hooks';
import { Button } from '../components/button.ts';
import { numberText } from '../components/number-text.ts';
import { TextInput } from '../components/text-input.ts';
import { VisibleText } from '../components/visible-text.ts';
import { html } from '../html.ts';

/** What is to be checked: a file, or a text. */
export interface Subject {
  file: File | null;
  text: string;
}

interface SubjectFieldProps {
  subject: Subject;
  onChange(subject: Subject): void;
  error: string | null;
}

/** Takes a proof or an export: chosen, dropped or pasted. */
export function SubjectField({ subject: { file, text }, onChange, error }: SubjectFieldProps) {
  const [isOver, setOver] = useState(false);
  const id = useId();
  const take = (files: FileList | null | undefined) => {
    const [first] = files ?? [];
    if (first !== undefined) onChange({ file: first, text: '' });
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer?.files);
  };
  const over = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  return html`<section class="card" aria-labelledby=${`${id}-title`}>
    <h2 id=${`${id}-title`}>What to check</h2>
    <div
      class=${isOver ? 'drop drop-over' : 'drop'}
      onDragOver=${over}
      onDragLeave=${() => setOver(false)}
      onDrop=${drop}
    >
      ${
        file === null
          ? html`<p>Drop a proof or an export here, or</p>`
          : html`<p><strong><${VisibleText} value=${file.name} max=${80} /></strong>, ${bytesText(file.size)}</p>`
      }
      <label class="button" for=${`${id}-file`}>${file === null ? 'Choose a file' : 'Choose another'}</label>
      <input
        class="drop-input"
        type="file"
        id=${`${id}-file`}
        onChange=${(event: Event) => take((event.target as HTMLInputElement).files)}
      />
      ${file !== null && html`<${Button} kind="quiet" onClick=${() => onChange({ file: null, text: '' })}>Remove<//>`}
    </div>
    ${
      file === null &&
      html`<${TextInput}
        label="Or paste it"
        rows=${4}
        isCode
        value=${text}
        onInput=${(pasted: string) => onChange({ file: null, text: pasted })}
        placeholder='{"proof": {"format": "PV1", …}}'
        hint="The answer of GET …/proof, or the lines of GET …/export."
        error=${error}
      />`
    }
  </section>`;
}

/** Returns a size such as `1.5 MB`. */
export const bytesText = (bytes: number): string =>
  bytes < 1000
    ? numberText.count(bytes, 'byte')
    : UNITS.reduce(
        (text, [size, name]) =>
          bytes >= size ? `${numberText.short(Math.round((bytes / size) * 10) / 10)} ${name}` : text,
        '',
      );

const UNITS: readonly (readonly [size: number, name: string])[] = [
  [1e3, 'kB'],
  [1e6, 'MB'],
  [1e9, 'GB'],
];
