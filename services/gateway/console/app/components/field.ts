import { useId } from 'preact/hooks';
import { type Child, html } from '../html.ts';

interface FieldControl {
  id: string;
  'aria-describedby'?: string;
  'aria-invalid'?: 'true';
}

export interface FieldProps {
  label: string;
  hint?: Child;
  /** What is wrong with the value; shown and announced. */
  error?: string | null;
  /** Renders the control with the attributes that tie it to its label, hint and error. */
  control(attributes: FieldControl): Child;
}

/** A label, a control, and what helps to fill it in. */
export function Field({ label, hint, error, control }: FieldProps) {
  const id = useId();
  const hasError = error !== undefined && error !== null && error !== '';
  const hasHint = hint !== undefined && hint !== null;
  const describedBy = [hasHint && `${id}-hint`, hasError && `${id}-error`].filter(Boolean).join(' ');
  return html`<div class=${hasError ? 'field field-wrong' : 'field'}>
    <label for=${id}>${label}</label>
    ${control({
      id,
      ...(describedBy !== '' && { 'aria-describedby': describedBy }),
      ...(hasError && { 'aria-invalid': 'true' as const }),
    })}
    ${hasHint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    <p class="field-error" id=${`${id}-error`} aria-live="polite">${hasError ? error : ''}</p>
  </div>`;
}
