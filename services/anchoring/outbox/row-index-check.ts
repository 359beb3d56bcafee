/**
 * Checks the index by which due and halted rows are found (`AnchorStore.open`). No seal covers it,
 * so anyone who can write to the store could hide a row there.
 *
 * A row whose index entry does not match its own standing and time is rewritten together with the
 * entry, and logged for the operator. Rows that change during the check are skipped, since the
 * change itself updates the entry.
 */
import type { Logger } from 'pino';
import { type AnchorRow, type AnchorStore, outboxStateOf } from '../../../store/anchors.ts';
import type { AnchoringContext } from '../context.ts';

const OPEN = ['due', 'halted'] as const;

/** Time of each index entry, by standing and collection. */
type RowIndex = Record<(typeof OPEN)[number], Map<string, string | null>>;

type IndexCheckContext = Pick<AnchoringContext, 'isInCharge' | 'unsound'> & {
  store: { anchors: AnchorStore };
  log: Pick<Logger, 'error'>;
};

/** Begins one check of all rows. Throws StoreError. */
export async function beginIndexCheck({ store: { anchors }, log, isInCharge, unsound }: IndexCheckContext) {
  const before = await readRowIndex(anchors);
  const suspects: AnchorRow[] = [];
  return {
    /** Checks a row that was read after the beginning. */
    at(row: AnchorRow): void {
      const { collectionId } = row;
      if (isInRowIndex(row, before) || unsound.has(collectionId) || !isInCharge(collectionId)) return;
      suspects.push(row);
    },

    /** Rewrites the rows with wrong index entries. Throws StoreError. */
    async end(): Promise<void> {
      if (suspects.length === 0) return;
      // Most suspects only changed between the two reads of the index.
      const filed = await readRowIndex(anchors);
      for (const row of suspects) {
        if (isInRowIndex(row, filed)) continue;
        // Fails if the row changed meanwhile; the change itself then updated the index.
        if (!(await anchors.put({ ...row, revision: row.revision + 1 }))) continue;
        const { collectionId } = row;
        log.error(
          { collectionId, standing: outboxStateOf(row) },
          'the store did not list a collection as due for anchoring; corrected',
        );
      }
    },
  };
}

async function readRowIndex(anchors: AnchorStore): Promise<RowIndex> {
  const filed: RowIndex = { due: new Map(), halted: new Map() };
  for (const standing of OPEN)
    for await (const page of anchors.open(standing))
      for (const { collectionId, wantedAt } of page) filed[standing].set(collectionId, wantedAt);
  return filed;
}

function isInRowIndex(row: AnchorRow, filed: RowIndex): boolean {
  const own = outboxStateOf(row);
  return OPEN.every((standing) => {
    const wantedAt = filed[standing].get(row.collectionId);
    return standing === own ? wantedAt === row.wantedAt : wantedAt === undefined;
  });
}
