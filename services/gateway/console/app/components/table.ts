import { useState } from 'preact/hooks';
import { type Child, html } from '../html.ts';

export interface Column<R> {
  title: Child;
  /** Numbers stand at the right. */
  isNumber?: boolean;
  /** Left out where there is little room. */
  isExtra?: boolean;
  /** Takes the room that is left, and is cut at its end. */
  isWide?: boolean;
  cell(row: R, at: number): Child;
}

interface TableProps<R> {
  label: string;
  columns: readonly Column<R>[];
  rows: readonly R[];
  keyOf(row: R, at: number): string;
}

/** Rows from which only those in sight are in the document. */
const VIRTUAL_MIN = 120;
/** Height in px of each row of such a table; `table.css` says the same. */
const ROW_PX = 40;
const VIEW_PX = 640;
/** Rows above and below those in sight. */
const MARGIN = 10;

/** A table of any number of rows. */
export function Table<R>({ label, columns, rows, keyOf }: TableProps<R>) {
  const [top, setTop] = useState(0);
  const isVirtual = rows.length >= VIRTUAL_MIN;
  const first = isVirtual ? Math.max(0, Math.floor(top / ROW_PX) - MARGIN) : 0;
  const end = isVirtual ? Math.min(rows.length, first + Math.ceil(VIEW_PX / ROW_PX) + 2 * MARGIN) : rows.length;
  const classOf = ({ isNumber, isExtra, isWide }: Column<R>) =>
    [isNumber && 'number', isExtra && 'extra', isWide && 'wide'].filter(Boolean).join(' ') || undefined;
  return html`<div
    class=${isVirtual ? 'table-box table-virtual' : 'table-box'}
    role="region"
    aria-label=${label}
    tabindex="0"
    onScroll=${isVirtual ? (event: Event) => setTop((event.target as HTMLElement).scrollTop) : undefined}
  >
    <table aria-rowcount=${rows.length + 1}>
      <thead>
        <tr>${columns.map((column) => html`<th scope="col" class=${classOf(column)}>${column.title}</th>`)}</tr>
      </thead>
      <tbody>
        ${isVirtual && html`<${Gap} rows=${first} columns=${columns.length} />`}
        ${rows.slice(first, end).map((row, at) => {
          const index = first + at;
          return html`<tr key=${keyOf(row, index)} aria-rowindex=${index + 2}>
            ${columns.map((column) => html`<td class=${classOf(column)}>${column.cell(row, index)}</td>`)}
          </tr>`;
        })}
        ${isVirtual && html`<${Gap} rows=${rows.length - end} columns=${columns.length} />`}
      </tbody>
    </table>
  </div>`;
}

/** The place of rows that are out of sight. */
function Gap({ rows, columns }: { rows: number; columns: number }) {
  if (rows === 0) return null;
  return html`<tr aria-hidden="true"><td class="gap" colspan=${columns} style=${{ height: `${rows * ROW_PX}px` }}></td></tr>`;
}
