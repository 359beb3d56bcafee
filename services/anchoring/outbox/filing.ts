/**
 * What is due, and what is halted, is found by what the store keeps beside each row for that
 * (`AnchorStore.open`): no seal covers it. Whoever can write to the store could say there that
 * nothing is due, and that nobody has anything to decide.
 *
 * Promises: a row that is looked at and stands under another standing, or another time, than it
 * says itself is written anew, and so is what stands beside it; the operator is told. Of a row that
 * changes meanwhile nothing is said: its change files it.
 */
import type { Logger } from 'pino';
import { type AnchorRow, type AnchorStore, standingOf } from '../../../lib/store/anchors.ts';
import type { AnchoringContext } from '../context.ts';

const OPEN = ['due', 'halted'] as const;

/** Since when some of each row waits, by its collection. */
type Filed = Record<(typeof OPEN)[number], Map<string, string | null>>;

type FilingContext = Pick<AnchoringContext, 'isInCharge' | 'unsound'> & {
  store: { anchors: AnchorStore };
  log: Pick<Logger, 'error'>;
};

/** Begins one look at all rows. Throws StoreError. */
export async function beginFiling({ store: { anchors }, log, isInCharge, unsound }: FilingContext) {
  const before = await readFiled(anchors);
  const suspects: AnchorRow[] = [];
  return {
    /** Looks at a row as it was read since. */
    at(row: AnchorRow): void {
      const { collectionId } = row;
      if (isFiled(row, before) || unsound.has(collectionId) || !isInCharge(collectionId)) return;
      suspects.push(row);
    },

    /** Files anew what stands elsewhere. Throws StoreError. */
    async end(): Promise<void> {
      if (suspects.length === 0) return;
      // Most changed between the two readings.
      const filed = await readFiled(anchors);
      for (const row of suspects) {
        if (isFiled(row, filed)) continue;
        // It is done only where the row is the same before and after what was read now.
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
