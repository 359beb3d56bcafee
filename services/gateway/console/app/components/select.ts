import { html } from '../html.ts';
import { Field, type FieldProps } from './field.ts';

interface SelectProps extends Omit<FieldProps, 'control'> {
  value: string;
  /** Texts by value. */
  options: Readonly<Record<string, string>>;
  onChange(value: string): void;
}

/** A field for one of a few values. */
export function Select({ value, options, onChange, ...field }: SelectProps) {
  return html`<${Field}
    ...${field}
    control=${(attributes: object) => html`<select
      class="input"
      ...${attributes}
      value=${value}
      onChange=${(event: Event) => onChange((event.target as HTMLSelectElement).value)}
    >
      ${Object.entries(options).map(
        ([name, text]) => html`<option value=${name} selected=${name === value}>${text}</option>`,
      )}
    </select>`}
  />`;
}
