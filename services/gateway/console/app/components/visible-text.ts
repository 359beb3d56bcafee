import { useState } from 'preact/hooks';
import { type Child, html } from '../html.ts';

interface VisibleTextProps {
  value: string;
  /** Characters that are shown at first. */
  max?: number;
  /** Whether line breaks and tabs are kept, as in a block of code. */
  isBlock?: boolean;
}

/**
 * Characters without a shape of their own: controls, marks of direction, separators, and halves of
 * pairs. The joiner within emoji has one.
 */
const HIDDEN = /(?!\u200d)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const MAX = 160;

/**
 * A text of a tenant. It cannot change the direction or the order of what is around it, hides
 * nothing, and is cut at `max` characters with a button that shows the rest.
 */
export function VisibleText({ value, max = MAX, isBlock = false }: VisibleTextProps) {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && value.length > max;
  const shown = isCut ? value.slice(0, max) : value;
  const more = value.length - max;
  return html`<bdi class="visible-text">${partsOf(shown, isBlock)}</bdi>${
    isCut &&
    html`<span aria-hidden="true">…</span> <button type="button" class="more" onClick=${() => setWhole(true)}>
        ${more.toLocaleString()} more
      </button>`
  }`;
}

function partsOf(text: string, isBlock: boolean): Child[] {
  const parts: Child[] = [];
  let at = 0;
  for (const { 0: char, index } of text.matchAll(HIDDEN)) {
    if (isBlock && (char === '\n' || char === '\t')) continue;
    if (index > at) parts.push(text.slice(at, index));
    parts.push(html`<span class="hidden-char" title=${nameOf(char)}>${nameOf(char)}</span>`);
    at = index + char.length;
  }
  parts.push(text.slice(at));
  return parts;
}

const nameOf = (char: string): string => `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
