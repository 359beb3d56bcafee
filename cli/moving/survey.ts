import { LeafTable } from '../../client/verify/leaf-table.ts';
import { Progress } from '../output/progress.ts';
import type { Issue } from '../sources/issues.ts';
import type { Source } from '../sources/port.ts';
import { RecordChecker, type Target } from './record-checker.ts';

/** Ids that are named for each issue. */
const EXAMPLES = 3;

/** What a reading of the whole source found. */
export interface Survey {
  /** Records that the source returned. */
  read: number;
  /** Records that can be moved, some of them perhaps without a part. */
  movable: number;
  issues: Map<Issue, { records: number; examples: string[] }>;
  /** Records with objects in lists, which Provec stores, but which no filter finds. */
  objectsInLists: number;
}

/** Reads the source, up to `limit` records, and counts what Provec does not have. */
export async function surveyed(
  source: Source,
  target: Target,
  { limit, pageRecords, count }: { limit: number; pageRecords: number; count: number | null },
): Promise<Survey> {
  const survey: Survey = { read: 0, movable: 0, issues: new Map(), objectsInLists: 0 };
  const checker = new RecordChecker(target, new LeafTable());
  const progress = new Progress('surveying');
  try {
    for await (const { records } of source.pages({ position: null, pageRecords })) {
      for (const given of records.slice(0, limit - survey.read)) {
        const { record, issues, hasObjectsInLists } = checker.check(given);
        survey.read++;
        if (record !== null) survey.movable++;
        if (hasObjectsInLists) survey.objectsInLists++;
        for (const issue of issues) note(survey, issue, given.id);
      }
      progress.update(survey.read, count === null ? null : survey.read / Math.max(1, Math.min(count, limit)));
      if (survey.read >= limit) break;
    }
  } finally {
    progress.end();
  }
  return survey;
}

function note({ issues }: Survey, issue: Issue, id: string): void {
  const found = issues.get(issue) ?? { records: 0, examples: [] };
  found.records++;
  if (found.examples.length < EXAMPLES) found.examples.push(id.slice(0, 100));
  issues.set(issue, found);
}
