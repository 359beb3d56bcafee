import { useState } from 'preact/hooks';
import { useAction } from '../data/use-action.ts';
import { type Children, html } from '../html.ts';
import { Dialog } from './dialog.ts';
import { DialogFoot } from './dialog-foot.ts';
import { TextInput } from './text-input.ts';

interface TypedConfirmationProps {
  title: string;
  /** What the reader has to type. */
  phrase: string;
  /** Text of the button that does it. */
  act: string;
  /** Whether something stands in its way, which `children` say. */
  isBarred?: boolean;
  perform(signal: AbortSignal): Promise<void>;
  onClose(): void;
  /** What it does. */
  children?: Children;
}

/** Does something that cannot be undone, once its name was typed. */
export function TypedConfirmation(props: TypedConfirmationProps) {
  const { title, phrase, act, isBarred = false, perform, onClose, children } = props;
  const [typed, setTyped] = useState('');
  const action = useAction(perform);
  const isConfirmed = typed === phrase && !isBarred;
  const submit = (event: Event) => {
    event.preventDefault();
    if (isConfirmed && !action.isBusy) action.run();
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form onSubmit=${submit}>
      ${children}
      <${TextInput} label=${`Type ${phrase} to confirm`} value=${typed} onInput=${setTyped} isCode />
      <${DialogFoot} act=${act} action=${action} kind="danger" disabled=${!isConfirmed} onClose=${onClose} />
    </form>
  <//>`;
}

/** Words of characters that can be seen, with single spaces between them. */
const TYPABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S}]+(?: [\p{L}\p{M}\p{N}\p{P}\p{S}]+)*$/u;

/** Returns a name that a reader can type, or else the id. */
export const typablePhrase = (name: string, id: string): string => (TYPABLE.test(name) ? name : id);
