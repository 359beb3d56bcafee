import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.ts';
import { Button } from './button.ts';

/** Time in ms after which a wait is worth showing. */
const PATIENCE_MS = 300;

interface WaitingProps {
  what: string;
  onCancel?: () => void;
}

/** A spinner, once a wait has lasted long enough to notice. */
export function Waiting({ what, onCancel }: WaitingProps) {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  return html`<div class="waiting" role="status">
    ${isLong && html`<span class="spinner" aria-hidden="true"></span><span>Loading ${what}…</span>`}
    ${isLong && onCancel !== undefined && html`<${Button} onClick=${onCancel}>Cancel<//>`}
  </div>`;
}
