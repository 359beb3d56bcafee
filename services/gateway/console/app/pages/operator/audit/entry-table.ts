import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Badge, type Tone } from '../../../components/badge.ts';
import { Button } from '../../../components/button.ts';
import { Dialog } from '../../../components/dialog.ts';
import { JsonView } from '../../../components/json-view.ts';
import { type Column, Table } from '../../../components/table.ts';
import { Time } from '../../../components/time.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { html } from '../../../html.ts';
import { type Change, changesOf } from './changes.ts';

type Entry = Api.AuditEntry;

const OUTCOMES: Readonly<Record<NonNullable<Entry['outcome']>, readonly [tone: Tone, text: string]>> = {
  done: ['good', 'Done'],
  refused: ['waiting', 'Refused'],
  failed: ['bad', 'Failed'],
};

const none = html`<span class="muted">–</span>`;

function Outcome({ ended, entries }: Change) {
  const fault = entries.find((entry) => entry.fault !== undefined)?.fault;
  if (fault !== undefined) return html`<span title=${fault}><${Badge} tone="bad">Changed in the store<//></span>`;
  if (ended?.outcome === undefined)
    return html`<span title="There is no entry that says how it ended."><${Badge} tone="neutral">Begun<//></span>`;
  const [tone, text] = OUTCOMES[ended.outcome];
  return html`<span title=${ended.code ?? undefined}><${Badge} tone=${tone}>${text}<//></span>`;
}

function whoOf({ actor }: Entry): string {
  if (actor === undefined) return '–';
  if (actor.type === 'key') return `key ${actor.keyId?.slice(0, 8) ?? ''}…`;
  return actor.type === 'console' ? `shell on ${actor.node ?? 'a node'}` : 'operator';
}

const COLUMNS: readonly Column<Change>[] = [
  {
    title: 'When',
    cell: ({ begun: { at } }) => (at === undefined ? none : html`<${Time} at=${at} />`),
  },
  { title: 'What', cell: ({ begun: { action } }) => html`<code>${action ?? '–'}</code>` },
  {
    title: 'Of',
    isExtra: true,
    cell: ({ begun, ended }) => {
      const target = begun.target ?? ended?.target ?? null;
      return target === null ? none : html`<${VisibleText} value=${target} max=${40} />`;
    },
  },
  { title: 'Outcome', cell: (change) => html`<${Outcome} ...${change} />` },
  {
    title: 'Who',
    isExtra: true,
    cell: ({ begun }) =>
      html`<span title=${begun.address ?? undefined}><${VisibleText} value=${whoOf(begun)} max=${40} /></span>`,
  },
];

/** Changes of an audit trail, the newest first. */
export function EntryTable({ entries }: { entries: readonly Entry[] }) {
  const [shown, setShown] = useState<Change | null>(null);
  const details: Column<Change> = {
    title: 'Details',
    isNumber: true,
    cell: (change) =>
      html`<${Button} kind="quiet" label=${`Details of entry ${change.begun.seq}`} onClick=${() => setShown(change)}>Details<//>`,
  };
  return html`<${Table} label="Audit log" columns=${[...COLUMNS, details]} rows=${changesOf(entries)}
      keyOf=${({ key }: Change) => key} />
    ${
      shown !== null &&
      html`<${Dialog} title=${`Entries of ${shown.begun.action ?? 'a change'}`} onClose=${() => setShown(null)}>
        ${shown.entries.map((entry) => html`<${JsonView} key=${entry.seq} value=${entry} label=${`Entry ${entry.seq}`} />`)}
      <//>`
    }`;
}
