import type { WaitingInstance, WriteHold, WriteHolds } from '../../lib/store/usage.ts';

export interface RowJudgement {
  /** It has ended or run out. */
  isOver(hold: WriteHold): boolean;
  /** It does not move any more. */
  isGone(waiting: WaitingInstance): boolean;
  /** Ids of the holds whose holders live. */
  renewed: ReadonlySet<string>;
}

/**
 * The revision after `row`: without what is over, with what is renewed. `changed`: whether it
 * differs from `row`.
 */
export function nextRow(
  row: WriteHolds,
  { isOver, isGone, renewed }: RowJudgement,
): { next: WriteHolds; changed: boolean } {
  let changed = false;
  const holds = row.holds
    .filter((hold) => !isOver(hold))
    .map((hold) => {
      if (!renewed.has(hold.id)) return { ...hold };
      changed = true;
      return { ...hold, beat: hold.beat + 1 };
    });
  const line = row.line.filter((waiting) => !isGone(waiting));
  changed ||= holds.length !== row.holds.length || line.length !== row.line.length;
  const alone = holds.some(({ id }) => id === row.alone) ? row.alone : null;
  return { next: { revision: row.revision + 1, holds, alone, line }, changed };
}

/**
 * Gives an instance its place in line: who has requests left stands in it, who had a turn goes to
 * its end, and a place that is kept is shown to be alive when its beat is due. Returns whether that
 * changed the line.
 */
export function lineUp(
  line: WaitingInstance[],
  instance: string,
  { left, hadTurn, beatDue }: { left: number; hadTurn: boolean; beatDue: boolean },
): boolean {
  const place = line.findIndex((waiting) => waiting.instance === instance);
  if (left === 0) {
    if (place >= 0) line.splice(place, 1);
    return place >= 0;
  }
  if (place < 0) line.push({ instance, beat: 0 });
  else if (hadTurn && line.length > 1) line.push(...line.splice(place, 1));
  else if (beatDue) line[place] = { instance, beat: line[place]!.beat + 1 };
  else return false;
  return true;
}
