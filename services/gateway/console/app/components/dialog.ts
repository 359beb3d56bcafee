import { useEffect, useId, useRef } from 'preact/hooks';
import { type Children, html } from '../html.ts';
import { Button } from './button.ts';

interface DialogProps {
  title: string;
  onClose(): void;
  children?: Children;
}

/** A window over the page. Escape and the button close it; the focus returns to where it was. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement as HTMLElement | null;
    element.current?.showModal();
    return () => opener?.focus();
  }, []);
  const close = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  return html`<dialog class="dialog" ref=${element} aria-labelledby=${id} onCancel=${close} onClose=${onClose}>
    <header class="dialog-head"><h2 id=${id}>${title}</h2>
      <${Button} kind="quiet" label="Close" onClick=${onClose}>✕<//>
    </header>
    <div class="dialog-body">${children}</div>
  </dialog>`;
}
