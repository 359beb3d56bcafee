/**
 * Checks the index by which due and halted rows are found (`AnchorStore.open`). No seal covers it,
 * so anyone who can write to the store could hide a row there.
 *
 * A row whose index entry does not match its own standing and time is rewritten together with the
 * entry, and logged for the operator. Rows that change during the check are skipped, since the
 * change itself updates the entry.
 */
import type { Logger } from 'pino';
import { type AnchorRow, type AnchorStore, standingOf } from '../../../lib/store/anchors.ts';
import type { AnchoringContext } from '../context.ts';

const OPEN = ['due', 'halted'] as const;

/** Time of each index entry, by standing and collection. */
type Filed = Record<(typeof OPEN)[number], Map<string, string | null>>;

type FilingContext = Pick<AnchoringContext, 'isInCharge' | 'unsound'> & {
  store: { anchors: AnchorStore };
  log: Pick<Logger, 'error'>;
};

/** Begins one check of all rows. Throws StoreError. */
export async function beginFiling({ store: { anchors }, log, isInCharge, unsound }: FilingContext) {
  const before = await readFiled(anchors);
  const suspects: AnchorRow[] = [];
  return {
    /** Checks a row that was read after the beginning. */
    at(row: AnchorRow): void {
      const { collectionId } = row;
      if (isFiled(row, before) || unsound.has(collectionId) || !isInCharge(collectionId)) return;
      suspects.push(row);
    },

    /** Rewrites the rows with wrong index entries. Throws StoreError. */
    async end(): Promise<void> {
      if (suspects.length === 0) return;
      // Most suspects only changed between the two reads of the index.
      const filed = await readFiled(anchors);
      for (const row of suspects) {
        if (isFiled(row, filed)) continue;
        // Fails if the row changed meanwhile; the change itself then updated the index.
        if (!(await anchors.put({ ...row, revision: row.revision + 1 }))) continue;
        const { collectionId } = row;
        log.error(
          { collectionId, standing: standingOf(row) },
          'the store did not list a collection as due for anchoring; corrected',
        );
      }
    },
  };
}

async function readFiled(anchors: AnchorStore): Promise<Filed> {
  const filed: Filed = { due: new Map(), halted: new Map() };
  for (const standing of OPEN)
    for await (const page of anchors.open(standing))
      for (const { collectionId, wantedAt } of page) filed[standing].set(collectionId, wantedAt);
  return filed;
}

function isFiled(row: AnchorRow, filed: Filed): boolean {
  const own = standingOf(row);
  return OPEN.every((standing) => {
    const wantedAt = filed[standing].get(row.collectionId);
    return standing === own ? wantedAt === row.wantedAt : wantedAt === undefined;
  });
}
