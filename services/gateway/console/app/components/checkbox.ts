import { useId } from 'preact/hooks';
import { type Child, html } from '../html.ts';

interface CheckboxProps {
  label: Child;
  hint?: Child;
  checked: boolean;
  disabled?: boolean;
  onChange(checked: boolean): void;
}

export function Checkbox({ label, hint, checked, disabled, onChange }: CheckboxProps) {
  const id = useId();
  return html`<div class="checkbox">
    <input
      type="checkbox"
      id=${id}
      checked=${checked}
      disabled=${disabled}
      aria-describedby=${hint === undefined ? undefined : `${id}-hint`}
      onChange=${(event: Event) => onChange((event.target as HTMLInputElement).checked)}
    />
    <label for=${id}>${label}</label>
    ${hint !== undefined && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
  </div>`;
}
