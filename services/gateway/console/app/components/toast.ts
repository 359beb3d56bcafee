import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.ts';
import type { Tone } from './badge.ts';

interface Note {
  id: number;
  text: string;
  tone: Tone;
}

const SHOWN_MS = 6_000;
let notes: readonly Note[] = [];
let made = 0;
let render: () => void = () => undefined;

/** Says in a corner, and to screen readers, that something happened. */
export function announce(text: string, tone: Tone = 'neutral'): void {
  const note = { id: made++, text, tone };
  notes = [...notes.filter((other) => other.text !== text), note];
  render();
  setTimeout(() => {
    notes = notes.filter((other) => other !== note);
    render();
  }, SHOWN_MS);
}

/** The corner itself, once in the shell. */
export function Toasts() {
  const [, setCount] = useState(0);
  useEffect(() => {
    render = () => setCount((count) => count + 1);
  }, []);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${notes.map(({ id, text, tone }) => html`<p key=${id} class=${`toast toast-${tone}`}>${text}</p>`)}
  </div>`;
}
