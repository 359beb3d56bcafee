import type { AuditEntriesPage, AuditEntryView, AuditedChange } from '../../contracts/actions/audit.ts';
import type { AuditItem, AuditStore } from '../../store/audit.ts';

/** Returns a page of a trail, after the entry at position `after`. */
export async function auditEntriesPage(
  audit: Pick<AuditStore, 'page'>,
  trail: string,
  after: number,
  limit: number,
): Promise<AuditEntriesPage> {
  const { items, head } = await audit.page(trail, after, limit);
  const last = items.at(-1);
  const isMore = last !== undefined && head !== null && last.seq < head.seq;
  return { entries: items.map(viewOf), ...(head && { head }), ...(isMore && { nextCursor: String(last.seq) }) };
}

function viewOf({ seq, previous, hash, entry, fault }: AuditItem): AuditEntryView {
  return { seq, ...(entry as AuditedChange | null), previousHash: previous, hash, ...(fault !== null && { fault }) };
}
