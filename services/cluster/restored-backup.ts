import { randomUUID } from 'node:crypto';
import type { BackupRestored, ChangeBegun } from '../../contracts/actions/audit.ts';
import type { Runtime } from '../../process/runtime.ts';
import { type AuditEntry, OPERATOR_TRAIL } from '../../store/audit.ts';

/**
 * Number of entries at the end of the operator's trail that are searched for the start of a backup.
 */
const SEARCHED_ENTRIES = 100;

/**
 * Records in the operator's trail that this store came from a backup. A copy's trail has the start
 * of the backup but not its end, as has that of a store whose service ended during a backup.
 */
export async function recordRestore({ store, clock }: Pick<Runtime, 'store' | 'clock'>, node: string): Promise<void> {
  const { head } = await store.audit.page(OPERATOR_TRAIL, 0, 1);
  if (head === null) return;
  const { items } = await store.audit.page(OPERATOR_TRAIL, Math.max(0, head.seq - SEARCHED_ENTRIES), SEARCHED_ENTRIES);
  const entries = items.flatMap(({ entry }) => (entry === null ? [] : [entry]));
  const begun = entries.findLast(isBackup);
  if (begun === undefined || entries.some((entry) => isEndOf(begun, entry))) return;
  const restored: BackupRestored = {
    id: randomUUID(),
    at: new Date(clock.wallMs()).toISOString(),
    action: 'backup.restore',
    phase: 'end',
    node,
    outcome: 'done',
    code: null,
    after: { backupId: begun.id, backupAt: begun.at },
  };
  await store.audit.append(OPERATOR_TRAIL, { ...restored });
}

function isBackup(entry: AuditEntry): entry is AuditEntry & Pick<ChangeBegun, 'id' | 'at'> {
  return entry.action === 'backup.create' && entry.phase === 'begin';
}

/** Whether `entry` is the end of the backup, or an earlier start on the copy. */
const isEndOf = ({ id }: Pick<ChangeBegun, 'id'>, entry: AuditEntry): boolean =>
  (entry.id === id && entry.phase === 'end') || (entry.after as { backupId?: unknown } | null)?.backupId === id;
