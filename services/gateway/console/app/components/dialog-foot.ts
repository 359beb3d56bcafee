import type { Failure } from '../data/failure.ts';
import { html } from '../html.ts';
import { Button } from './button.ts';
import { FailureNotice } from './notice.ts';

interface DialogFootProps {
  /** Text of the button that acts. */
  act: string;
  action: { failure: Failure | null; isBusy: boolean };
  kind?: 'primary' | 'danger';
  disabled?: boolean;
  onClose(): void;
  /** Absent: the button submits the form around it. */
  onAct?(): void;
}

/** The end of a dialog: why its action failed, a button to cancel, and the one that acts. */
export function DialogFoot({ act, action, kind = 'primary', disabled = false, onClose, onAct }: DialogFootProps) {
  const type = onAct === undefined ? 'submit' : 'button';
  return html`<${FailureNotice} failure=${action.failure} />
    <div class="dialog-foot">
      <${Button} onClick=${onClose}>Cancel<//>
      <${Button} kind=${kind} type=${type} disabled=${disabled} isBusy=${action.isBusy} onClick=${onAct}>${act}<//>
    </div>`;
}
