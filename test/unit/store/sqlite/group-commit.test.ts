import { beforeEach, describe, expect, test } from '@jest/globals';
import type { StoreError } from '../../../../store/port.ts';
import { GroupCommit, type Outcome } from '../../../../store/sqlite/thread/group-commit.ts';
import { until } from '../../../support/until.ts';

const IO_ERROR_FSYNC = 1034;
const FULL = 13;
const BUSY = 5;

/** An error as node:sqlite throws it. */
const sqliteError = (errcode: number) => Object.assign(new Error('of SQLite'), { code: 'ERR_SQLITE_ERROR', errcode });

/** A file whose transactions fail on request, where no real disk can. */
class FailingFile {
  readonly name = 'file';
  /** Committed rows. */
  readonly rows: string[] = [];
  /** Each is thrown once, by the next transactions: at BEGIN, or at COMMIT. */
  readonly beginErrors: Error[] = [];
  readonly commitErrors: Error[] = [];
  isInTransaction = false;
  #written: string[] = [];

  write(row: string): string {
    this.#written.push(row);
    return row;
  }

  tryTransaction<T>(work: () => T): T {
    const beginError = this.beginErrors.shift();
    if (beginError) throw beginError;
    this.isInTransaction = true;
    this.#written = [];
    try {
      const result = work();
      const commitError = this.commitErrors.shift();
      if (commitError) throw commitError;
      this.rows.push(...this.#written);
      return result;
    } finally {
      this.isInTransaction = false;
    }
  }

  inSavepoint<T>(work: () => T): T {
    const before = this.#written.length;
    try {
      return work();
    } catch (error) {
      this.#written.length = before;
      throw error;
    }
  }
}

let file: FailingFile;
let commits: number;
let commit: GroupCommit;
beforeEach(() => {
  file = new FailingFile();
  commits = 0;
  commit = new GroupCommit({
    database: file,
    beforeCommit: () => void file.write('count'),
    onCommit: () => commits++,
  });
});

async function submit(...operations: (() => unknown)[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const operation of operations) commit.submit(operation, 0, (outcome) => outcomes.push(outcome));
  await until('all are settled', () => outcomes.length === operations.length);
  return outcomes;
}

const kindsOf = (outcomes: Outcome[]) =>
  outcomes.map((outcome) => ('error' in outcome ? (outcome.error as StoreError).kind : outcome.result));
const write = (row: string) => () => file.write(row);

test('waiting operations share a commit, which is counted once', async () => {
  expect(kindsOf(await submit(write('a'), write('b')))).toEqual(['a', 'b']);
  expect(file.rows).toEqual(['a', 'b', 'count']);
  expect(commits).toBe(1);
});

describe('a commit that fails', () => {
  test('in its sync leaves all of the group unknown, is overwritten, and counts as none', async () => {
    file.commitErrors.push(sqliteError(IO_ERROR_FSYNC));
    expect(kindsOf(await submit(write('a'), write('b')))).toEqual(['unknown', 'unknown']);
    expect(file.rows).toEqual(['count']);
    expect(commits).toBe(1);
    expect(kindsOf(await submit(write('c')))).toEqual(['c']);
    expect(file.rows).toEqual(['count', 'c', 'count']);
  });

  test('twice, even when it is overwritten, leaves the file usable', async () => {
    file.commitErrors.push(sqliteError(IO_ERROR_FSYNC), sqliteError(IO_ERROR_FSYNC));
    expect(kindsOf(await submit(write('a')))).toEqual(['unknown']);
    expect(commits).toBe(0);
    expect(kindsOf(await submit(write('b')))).toEqual(['b']);
  });

  test('for lack of space leaves nothing and says so', async () => {
    file.commitErrors.push(sqliteError(FULL));
    expect(kindsOf(await submit(write('a'), write('b')))).toEqual(['capacity', 'capacity']);
    expect(file.rows).toEqual([]);
    expect(commits).toBe(0);
  });
});

test('a group blocked by another process runs again completely, and later operations follow it', async () => {
  let runs = 0;
  file.beginErrors.push(sqliteError(BUSY), sqliteError(BUSY));
  file.commitErrors.push(sqliteError(BUSY));
  const first = submit(() => ++runs);
  const second = submit(write('later'));
  expect(await first).toEqual([{ result: 2 }]);
  expect(await second).toEqual([{ result: 'later' }]);
});

test("an operation's error is its own, a disk error is the group's", async () => {
  const constraint = () => {
    file.write('half');
    throw sqliteError(1555);
  };
  const disk = () => {
    throw sqliteError(266);
  };
  expect(kindsOf(await submit(write('a'), constraint, write('b'))).filter((_, at) => at !== 1)).toEqual(['a', 'b']);
  expect(file.rows).toEqual(['a', 'b', 'count']);
  expect(kindsOf(await submit(write('c'), disk))).toEqual(['unavailable', 'unavailable']);
  expect(file.rows).toEqual(['a', 'b', 'count']);
});

test('without space large writes are refused, and removals are not', async () => {
  commit = new GroupCommit({ database: file, hasRoom: () => false });
  const outcomes: Outcome[] = [];
  commit.submit(write('much'), 10, (outcome) => outcomes.push(outcome));
  commit.submit(write('removal'), 0, (outcome) => outcomes.push(outcome));
  await until('both are settled', () => outcomes.length === 2);
  expect(kindsOf(outcomes)).toEqual(['capacity', 'removal']);
  expect(file.rows).toEqual(['removal']);
});
