import { html } from '../html.ts';
import { Field, type FieldProps } from './field.ts';

interface TextInputProps extends Omit<FieldProps, 'control'> {
  value: string;
  onInput(value: string): void;
  type?: 'text' | 'number' | 'password' | 'search';
  /** Rows of a longer text; one line without. */
  rows?: number;
  /** Code, in a monospaced font and without spelling. */
  isCode?: boolean;
  min?: number;
  max?: number;
  required?: boolean;
  placeholder?: string;
  suggestions?: readonly string[];
}

const textOf = (event: Event): string => (event.target as HTMLInputElement).value;

/** A field for a text or a number. */
export function TextInput({ value, onInput, type = 'text', rows, isCode, suggestions, ...props }: TextInputProps) {
  const { min, max, required, placeholder, ...field } = props;
  const list = (id: string) => (suggestions === undefined ? undefined : `${id}-list`);
  return html`<${Field}
    ...${field}
    control=${(attributes: { id: string }) => {
      const common = {
        ...attributes,
        value,
        required,
        placeholder,
        class: isCode ? 'input input-code' : 'input',
        spellcheck: false,
        autocomplete: 'off',
        autocapitalize: 'off',
        dir: isCode ? 'ltr' : 'auto',
        onInput: (event: Event) => onInput(textOf(event)),
      };
      if (rows !== undefined) return html`<textarea rows=${rows} ...${common}></textarea>`;
      return html`<input type=${type} min=${min} max=${max} list=${list(attributes.id)} ...${common} />
        ${
          suggestions !== undefined &&
          html`<datalist id=${list(attributes.id)}>${suggestions.map((one) => html`<option value=${one} />`)}</datalist>`
        }`;
    }}
  />`;
}
