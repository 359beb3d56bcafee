/**
 * Checks whether the history of one record is linearizable: each operation takes effect at one
 * instant between sending and answer, and each read returns the last write. A write of unknown
 * outcome may take effect at any time after it was sent, or never.
 *
 * Just-in-time linearization (Lowe, "Testing for linearizability", 2017): goes through the events
 * with all possible states, and linearizes an operation only when an answer requires it. Unknown
 * operations are linearized only if a pending operation sees their effect, one of equivalent ones
 * is tried, and only minimal states are kept. So the number of states stays small.
 */
import type { Operation } from './operation.ts';

/**
 * A possible value of the record, and the unanswered operations that were linearized to reach it.
 */
interface Configuration {
  value: string | null;
  done: ReadonlySet<number>;
}

/**
 * Returns null when the history is linearizable, starting with an absent record; else the first
 * operation whose answer no order explains.
 */
export function firstUnexplained(operations: readonly Operation[]): Operation | null {
  const events = operations.flatMap((operation, at) => [
    { instant: operation.sent, at, isAnswer: false },
    ...(operation.answered === null ? [] : [{ instant: operation.answered, at, isAnswer: true }]),
  ]);
  events.sort((a, b) => a.instant - b.instant);
  const search = new Search(operations);
  for (const { at, isAnswer } of events) {
    if (!isAnswer) search.send(at);
    else if (!search.answer(at)) return operations[at]!;
  }
  return null;
}

class Search {
  readonly #operations: readonly Operation[];
  /** Values that some read of the history returned. */
  readonly #read: Set<string | null>;
  readonly #open = new Set<number>();
  #configurations: Configuration[] = [{ value: null, done: new Set() }];

  constructor(operations: readonly Operation[]) {
    this.#operations = operations;
    this.#read = new Set(operations.flatMap(({ kind, value }) => (kind === 'read' ? [value] : [])));
  }

  send(at: number): void {
    this.#open.add(at);
    this.#configurations = this.#configurations.map((one) => this.#withReads(one));
  }

  /** Handles an answer. Returns false when no order explains it. */
  answer(at: number): boolean {
    if (!this.#open.has(at)) return true;
    const found = this.#withDone(at);
    const least = found.filter(
      (one) =>
        !found.some((other) => other !== one && other.value === one.value && this.#isNoWorse(other.done, one.done)),
    );
    // Operations that are done in every configuration need no further tracking.
    const settled = [...(least[0]?.done ?? [])].filter((one) => least.every(({ done }) => done.has(one)));
    for (const one of settled) this.#open.delete(one);
    this.#configurations = least.map(({ value, done }) => ({ value, done: without(done, settled) }));
    return least.length > 0;
  }

  /** All minimal reachable configurations in which the operation is done. */
  #withDone(at: number): Configuration[] {
    const reached = new Map<string | null, Configuration[]>();
    const found: Configuration[] = [];
    let next = this.#configurations;
    while (next.length > 0) {
      const further: Configuration[] = [];
      for (const one of next) {
        const others = reached.get(one.value) ?? [];
        if (others.some((other) => this.#isNoWorse(other.done, one.done))) continue;
        reached.set(one.value, [...others, one]);
        if (one.done.has(at)) found.push(one);
        else for (const step of this.#steps(one)) further.push(this.#after(one, step));
      }
      next = further;
    }
    return found;
  }

  /** Operations that may take effect next and change the record. */
  #steps({ value, done }: Configuration): number[] {
    const steps: number[] = [];
    const left = [...this.#open].filter((at) => !done.has(at));
    const unknown = left.filter((at) => this.#operations[at]!.answered === null);
    for (const at of left) {
      const { kind, existed, answered } = this.#operations[at]!;
      const isPossible = existed === undefined || existed === (value !== null);
      if (kind !== 'read' && answered !== null && isPossible) steps.push(at);
    }
    const isAwaited = (seen: (operation: Operation) => boolean) => left.some((at) => seen(this.#operations[at]!));
    const needsRecord = value === null && isAwaited(({ existed }) => existed === true);
    const needsNone =
      value !== null &&
      isAwaited(({ kind, existed, value: given }) => (kind === 'read' ? given === null : existed === false));
    // Deletes are interchangeable. So are writes that no read returns; any other write is better
    // kept for its reader.
    const removal = needsNone ? unknown.find((at) => this.#operations[at]!.kind === 'delete') : undefined;
    if (removal !== undefined) steps.push(removal);
    const writes = unknown.filter((at) => {
      const { kind, existed } = this.#operations[at]!;
      return kind === 'write' && (existed === undefined || value !== null);
    });
    const unread = writes.find((at) => !this.#read.has(this.#operations[at]!.value));
    for (const at of writes) {
      const written = this.#operations[at]!.value;
      const isRead = isAwaited(({ kind, value: given }) => kind === 'read' && given === written);
      if (isRead || (needsRecord && (at === unread || unread === undefined))) steps.push(at);
    }
    return steps;
  }

  #after({ done }: Configuration, at: number): Configuration {
    const { kind, value } = this.#operations[at]!;
    return this.#withReads({ value: kind === 'write' ? value : null, done: new Set([...done, at]) });
  }

  /** Reads change nothing, so every possible read is done at once. */
  #withReads(one: Configuration): Configuration {
    const reads: number[] = [];
    for (const at of this.#open) {
      const { kind, value } = this.#operations[at]!;
      if (kind === 'read' && value === one.value && !one.done.has(at)) reads.push(at);
    }
    return reads.length === 0 ? one : { value: one.value, done: new Set([...one.done, ...reads]) };
  }

  /**
   * Whether the first of two ways to the same value leaves the same operations to do, and uses no
   * unknown operation that the second does not use.
   */
  #isNoWorse(first: ReadonlySet<number>, second: ReadonlySet<number>): boolean {
    for (const at of first) if (!second.has(at)) return false;
    for (const at of second) if (!first.has(at) && this.#operations[at]!.answered !== null) return false;
    return true;
  }
}

function without(set: ReadonlySet<number>, members: readonly number[]): ReadonlySet<number> {
  const rest = new Set(set);
  for (const member of members) rest.delete(member);
  return rest;
}
