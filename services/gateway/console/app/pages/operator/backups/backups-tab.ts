import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Badge, type Tone } from '../../../components/badge.ts';
import { Button } from '../../../components/button.ts';
import { EmptyState } from '../../../components/empty-state.ts';
import { ErrorState } from '../../../components/error-state.ts';
import { numberText } from '../../../components/number-text.ts';
import { type Column, Table } from '../../../components/table.ts';
import { Time } from '../../../components/time.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { Waiting } from '../../../components/waiting.ts';
import type { Failure } from '../../../data/failure.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { useLive } from '../../../data/use-live.ts';
import { html } from '../../../html.ts';
import { StartBackupDialog } from './start-backup-dialog.ts';

/** Backups that are listed: the newest by name. */
const SHOWN = 100;
/** Time in ms between two looks while a backup runs, and while none does. */
const RUNNING_MS = 1_000;
const IDLE_MS = 30_000;

const STATES: Readonly<Record<Api.Backup['state'], readonly [tone: Tone, text: string, meaning: string]>> = {
  running: ['waiting', 'Running', 'The copy is being made.'],
  done: ['good', 'Complete', 'It can be restored.'],
  failed: ['bad', 'Failed', 'Nothing is left of it.'],
  interrupted: ['bad', 'Interrupted', 'The service ended before the copy was complete. Delete the folder.'],
};

/** Backups in the folder of the service, and starting one. */
export default function BackupsTab() {
  const [isStarting, setStarting] = useState(false);
  const [isRunning, setRunning] = useState(false);
  const load = async (signal: AbortSignal) => {
    const answer = await askOperator('listBackups', { query: { limit: SHOWN } }, signal);
    setRunning(answer.backups.some(({ state }) => state === 'running'));
    return answer;
  };
  const { value, failure, readNow } = useLive(load, { everyMs: isRunning ? RUNNING_MS : IDLE_MS });
  const started = () => {
    setStarting(false);
    setRunning(true);
  };
  return html`<div class="tab-head">
      <p class="muted">Copies of the data folder of a service with its data on disk. MongoDB has its own tools.</p>
      <${Button} kind="primary" disabled=${value === null || isRunning} onClick=${() => setStarting(true)}>Start a backup<//>
    </div>
    <${Content} value=${value} failure=${failure} onRetry=${readNow} />
    ${isStarting && html`<${StartBackupDialog} onClose=${() => setStarting(false)} onStarted=${started} />`}`;
}

interface ContentProps {
  value: Api.ListBackupsResult | null;
  failure: Failure | null;
  onRetry(): void;
}

function Content({ value, failure, onRetry }: ContentProps) {
  if (failure !== null) return html`<${ErrorState} failure=${failure} onRetry=${onRetry} />`;
  if (value === null) return html`<${Waiting} what="the backups" />`;
  if (value.backups.length === 0)
    return html`<${EmptyState} title="No backups yet">
      <p>A backup is made while the service goes on, and holds the state of one moment. <code>provec restore</code> brings it back.</p>
    <//>`;
  return html`<${Table} label="Backups" columns=${COLUMNS} rows=${value.backups} keyOf=${({ name }: Api.Backup) => name} />
    ${value.nextCursor !== undefined && html`<p class="hint table-hint">The last ${numberText.whole(SHOWN)} by name; <code>provec backup list</code> has all.</p>`}`;
}

const COLUMNS: readonly Column<Api.Backup>[] = [
  {
    title: 'Name',
    cell: ({ name, folder }) => html`<span title=${folder}><${VisibleText} value=${name} max=${64} /></span>`,
  },
  {
    title: 'State',
    cell: ({ state, error }) => {
      const [tone, text, meaning] = STATES[state];
      return html`<span title=${meaning}><${Badge} tone=${tone}>${text}<//></span>
        ${error !== null && html` <span class="muted"><${VisibleText} value=${error} max=${80} /></span>`}`;
    },
  },
  { title: 'Size', isNumber: true, cell: ({ bytes }) => numberText.bytes(bytes) },
  {
    title: 'Complete',
    isExtra: true,
    cell: ({ at }) => (at === null ? html`<span class="muted">–</span>` : html`<${Time} at=${at} />`),
  },
];
