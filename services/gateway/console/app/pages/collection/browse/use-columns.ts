import { useState } from 'preact/hooks';

/** Where this tab keeps the columns of each collection, by the collection's id. */
const STORED = 'provec-columns';
/** Collections whose columns are kept. */
const KEPT = 20;
export const COLUMNS_MAX = 8;

function stored(): [id: string, columns: string[]][] {
  try {
    const entries: unknown = JSON.parse(sessionStorage.getItem(STORED) ?? '[]');
    return Array.isArray(entries) ? (entries as [string, string[]][]) : [];
  } catch {
    // Another program wrote there; the columns are chosen anew.
    return [];
  }
}

/** Returns the columns chosen for a collection in this tab, and a way to choose others. */
export function useColumns(id: string): [columns: readonly string[], choose: (columns: readonly string[]) => void] {
  const [columns, setColumns] = useState<readonly string[]>(() => stored().find(([other]) => other === id)?.[1] ?? []);
  const choose = (next: readonly string[]) => {
    const others = stored().filter(([other]) => other !== id);
    sessionStorage.setItem(STORED, JSON.stringify([[id, next], ...others].slice(0, KEPT)));
    setColumns(next);
  };
  return [columns, choose];
}
