import type * as Api from '../../../../../../../client/api/generated.ts';

type Entry = Api.AuditEntry;

/** A change with its entries: one before it, and one after it unless it is under way. */
export interface Change {
  key: string;
  /** The entry that says who asked for what; the other one if this is not on the page. */
  begun: Entry;
  /** The entry with the outcome; null while there is none. */
  ended: Entry | null;
  entries: readonly Entry[];
}

/** Joins the entries of each change, the newest change first. */
export function changesOf(entries: readonly Entry[]): Change[] {
  const changes = new Map<string, Entry[]>();
  for (const entry of entries) {
    const key = entry.id ?? `${entry.seq}`;
    changes.set(key, [...(changes.get(key) ?? []), entry]);
  }
  return [...changes]
    .map(([key, own]) => ({
      key,
      begun: own.find(({ phase }) => phase === 'begin') ?? own[0]!,
      ended: own.find(({ phase }) => phase === 'end') ?? null,
      entries: own,
    }))
    .reverse();
}
