import type { Logger } from 'pino';
import { ownIdentity } from '../../lib/process/process-identity.ts';
import type { Clock } from '../../lib/runtime.ts';
import type { UsageStore } from '../../lib/store/usage.ts';
import { bootOfMachine, JournalAdoption } from './journal-adoption.ts';
import { type JournalBlock, type JournalOwner, UseJournal } from './use-journal.ts';

export interface BlockUsesOptions {
  folder: string;
  usage: UsageStore;
  clock: Pick<Clock, 'monotonicMs'>;
  log: Logger;
}

/**
 * What this process has used of its blocks, for whoever comes after it, and what those before it
 * left. Where no journal can be written (a read-only disk) blocks are used all the same, and those
 * of a crash count as used.
 */
export class BlockUses {
  readonly #options: BlockUsesOptions;
  #adoption: JournalAdoption | null = null;
  #owner: JournalOwner | null = null;
  #journal: UseJournal | null = null;
  /** No longer current; its blocks are being given back. */
  #former: UseJournal[] = [];
  #generation = 0;
  #isWarned = false;

  constructor(options: BlockUsesOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { folder, usage, clock } = this.#options;
    const boot = await bootOfMachine();
    this.#owner = { process: await ownIdentity(), boot };
    this.#adoption = new JournalAdoption({ folder, boot, usage, clock });
    this.renew();
    await this.adopt();
  }

  /** Whether what is used now is certain to be seen by those who come after. */
  get isCurrent(): boolean {
    return this.#journal?.isCurrent ?? true;
  }

  /** Which journal is written: a block of an earlier one must not be used any more. */
  get generation(): number {
    return this.#generation;
  }

  /** A journal for the blocks to come, in place of one that is not current any more. */
  renew(): void {
    const { folder, clock, log } = this.#options;
    if (this.#journal !== null) this.#former.push(this.#journal);
    this.#journal = null;
    this.#generation++;
    try {
      if (this.#owner !== null) this.#journal = new UseJournal(folder, this.#owner, clock);
      this.#isWarned = false;
    } catch (error) {
      if (this.#isWarned) return;
      this.#isWarned = true;
      log.warn({ err: error }, 'uses of query blocks cannot be journaled: what a crash leaves unused counts as used');
    }
  }

  begin(block: JournalBlock): void {
    if (this.#journal !== null) this.#attempt(this.#journal, (journal) => journal.begin(block));
  }

  note(id: string, used: number): void {
    if (this.#journal !== null) this.#attempt(this.#journal, (journal) => journal.note(id, used));
  }

  /** The store has closed the block. */
  end(id: string): void {
    for (const journal of this.#former) this.#attempt(journal, () => journal.end(id));
    if (this.#journal !== null) this.#attempt(this.#journal, (journal) => journal.end(id));
  }

  /** To be called once a second. */
  beat(): void {
    if (this.#journal !== null) this.#attempt(this.#journal, (journal) => journal.beat());
    else this.renew();
    for (const journal of this.#former.filter(({ isEmpty }) => isEmpty)) journal.close();
    this.#former = this.#former.filter(({ isEmpty }) => !isEmpty);
  }

  /** Gives back what dead processes left; never rejects. */
  async adopt(): Promise<void> {
    try {
      await this.#adoption?.adopt(this.#journal?.path ?? null);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'unused queries of a dead process could not be given back yet');
    }
  }

  close(): void {
    for (const journal of [this.#journal, ...this.#former]) journal?.close();
    this.#journal = null;
    this.#former = [];
  }

  /**
   * A journal that cannot be written is removed: a block that nobody journals counts as used after
   * a crash, never as unused.
   */
  #attempt(journal: UseJournal, write: (journal: UseJournal) => void): void {
    try {
      write(journal);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'uses of query blocks can be journaled no longer');
      journal.discard();
      if (this.#journal === journal) this.#journal = null;
      this.#former = this.#former.filter((each) => each !== journal);
    }
  }
}
