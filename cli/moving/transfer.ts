import { InputError } from '../../client/cli/json-file.ts';
import type { Collection } from '../../client/index.ts';
import type { Checkpoint } from '../input/checkpoint.ts';
import type { ManifestWriter } from '../manifest/manifest-writer.ts';
import { Progress } from '../output/progress.ts';
import type { Session } from '../session.ts';
import { type Issue, issueText } from '../sources/issues.ts';
import type { Source, SourcePage } from '../sources/port.ts';
import { type MovedRecord, RecordChecker, type Target } from './record-checker.ts';

/** How far an import from a source has come. */
export interface MoveState {
  /** Position in the source behind the last page that is stored; null at the beginning. */
  position: string | null;
  /** Records that the source returned up to there. */
  read: number;
  /** Records that are stored. */
  moved: number;
  leftOut: Partial<Record<Issue, number>>;
  /** Whole lines of the manifest. */
  manifestBytes: number;
  startedAt: string;
  /** Whether every record of the source is stored. */
  isComplete: boolean;
}

export interface Transfer {
  session: Session;
  source: Source;
  collection: Collection;
  target: Target;
  manifest: ManifestWriter;
  checkpoint: Checkpoint<MoveState>;
  leaveOut: readonly Issue[];
  limit: number;
  pageRecords: number;
  /** Pages that are sent before the first of them is acknowledged. */
  inFlight: number;
  /** Number of records that are expected; null if unknown. */
  count: number | null;
}

/** A page that was sent. */
interface SentPage {
  records: readonly MovedRecord[];
  /** State once it and all pages before it are stored. */
  state: Omit<MoveState, 'manifestBytes'>;
  stored: Promise<void>;
}

/**
 * Moves the records from `begin` on. After each page, the manifest has its records and the
 * checkpoint its end, so a later run sends at most the pages in flight again. Returns the state at
 * the end.
 */
export async function transferred(transfer: Transfer, begin: MoveState): Promise<MoveState> {
  const { source, limit, pageRecords, inFlight, manifest, target } = transfer;
  const checker = new RecordChecker(target, manifest.leaves);
  const progress = new Progress('importing');
  const sent: SentPage[] = [];
  let state = begin;
  let ahead: SentPage['state'] = begin;
  const settleFirst = async (): Promise<void> => {
    state = await settled(transfer, sent.shift()!);
    const { count } = transfer;
    progress.update(
      state.read - begin.read,
      count === null ? null : (state.read - begin.read) / Math.max(1, Math.min(count, limit) - begin.read),
    );
  };
  try {
    if (ahead.read < limit) {
      for await (const page of source.pages({ position: begin.position, pageRecords })) {
        const next = sentPage(transfer, checker, page, ahead);
        // It is awaited later; until then, a rejection is not unhandled.
        next.stored.catch(() => undefined);
        sent.push(next);
        ahead = next.state;
        if (sent.length >= inFlight) await settleFirst();
        if (ahead.read >= limit) break;
      }
    }
    while (sent.length > 0) await settleFirst();
  } finally {
    progress.end();
  }
  const complete = { ...state, isComplete: true };
  await transfer.checkpoint.write(complete);
  return complete;
}

/** Checks a page and begins to send it. Throws if it has something that must not be left out. */
function sentPage(transfer: Transfer, checker: RecordChecker, page: SourcePage, before: SentPage['state']): SentPage {
  const { leaveOut, limit } = transfer;
  const taken = page.records.slice(0, limit - before.read);
  const leftOut = { ...before.leftOut };
  const records = taken.flatMap((given) => {
    const { record, issues } = checker.check(given);
    for (const issue of issues) {
      if (!leaveOut.includes(issue))
        throw new InputError(
          `The record ${JSON.stringify(given.id.slice(0, 100))} has ${issueText(issue)}. To leave that out, give --leave-out ${issue}.`,
        );
      leftOut[issue] = (leftOut[issue] ?? 0) + 1;
    }
    return record === null ? [] : [record];
  });
  const state = {
    ...before,
    position: page.next,
    read: before.read + taken.length,
    moved: before.moved + records.length,
    leftOut,
  };
  return { records, state, stored: stored(transfer, records) };
}

/** Writes the records, those of each namespace in one request, without waiting for the anchor. */
async function stored({ collection, session }: Transfer, records: readonly MovedRecord[]): Promise<void> {
  const groups = Map.groupBy(records, ({ namespace }) => namespace);
  for (const [namespace, group] of groups) {
    const body = group.map(({ id, values, metadata }) => ({ id, values: values as number[], metadata }));
    await collection.upsert({ records: body, namespace, waitForAnchor: false }, session.request);
  }
}

/** Waits until the page is stored, then notes it in the manifest and the checkpoint. */
async function settled(
  { manifest, checkpoint }: Transfer,
  { records, state, stored: done }: SentPage,
): Promise<MoveState> {
  await done;
  await manifest.add(records);
  const reached = { ...state, manifestBytes: await manifest.sync() };
  await checkpoint.write(reached);
  return reached;
}
