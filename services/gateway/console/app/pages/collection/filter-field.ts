import { TextInput } from '../../components/text-input.ts';
import { html } from '../../html.ts';
import type { WrittenFilter } from './use-filter.ts';

/** Takes a filter as JSON, and says at once whether it is one and what it matches. */
export function FilterField({ written }: { written: WrittenFilter }) {
  const { text, setText, fault, note } = written;
  return html`<${TextInput}
    label="Filter"
    isCode
    rows=${2}
    value=${text}
    onInput=${setText}
    placeholder=${'{"year": {"$gte": 2020}}'}
    error=${fault}
    hint=${note === '' ? 'JSON; empty for all records.' : note}
  />`;
}
