import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { isAlive } from '../../lib/process/process-identity.ts';
import type { Clock } from '../../lib/runtime.ts';
import type { UsageStore } from '../../lib/store/usage.ts';
import { Sightings } from './sightings.ts';
import { JOURNAL_SUFFIX, type JournalReading, readJournal } from './use-journal.ts';

/** Which start of this machine; '' where the system does not tell. */
export async function bootOfMachine(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim();
}

export interface AdoptionOptions {
  folder: string;
  boot: string;
  usage: UsageStore;
  clock: Pick<Clock, 'monotonicMs'>;
}

/**
 * Gives back what dead processes did not use of their blocks, by the journals that they left in
 * this folder. A process is dead when its id is known to be gone, or when its beat has stood still
 * on our own clock for longer than it may use its blocks. Journals of an earlier start of the
 * machine are removed unread: their last writes may never have reached the disk, and a block that
 * is given back must be certain to be unused.
 */
export class JournalAdoption {
  readonly #options: AdoptionOptions;
  readonly #sightings: Sightings;
  #running: Promise<void> | null = null;

  constructor(options: AdoptionOptions) {
    this.#options = options;
    this.#sightings = new Sightings(() => options.clock.monotonicMs());
  }

  /**
   * Looks at every journal but `own`. Throws StoreError; what could not be given back is tried
   * again the next time.
   */
  adopt(own: string | null): Promise<void> {
    this.#running ??= this.#adopt(own).finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #adopt(own: string | null): Promise<void> {
    const { folder, boot, clock } = this.#options;
    const names = await readdir(folder).catch(() => []);
    const paths = names.filter((name) => name.endsWith(JOURNAL_SUFFIX)).map((name) => join(folder, name));
    const askedAtMs = clock.monotonicMs();
    const found: { path: string; journal: JournalReading | null }[] = [];
    for (const path of paths.filter((path) => path !== own)) {
      const bytes = await readFile(path).catch(() => null);
      if (bytes !== null) found.push({ path, journal: readJournal(bytes) });
    }
    this.#sightings.observe(found.map(({ path, journal }) => [path, journal?.beat ?? 0] as const));
    for (const { path, journal } of found) {
      const isStill = this.#sightings.unchangedMs(path, askedAtMs) >= INTERNAL_LIMITS.queryJournalDeadAfterMs;
      if (journal !== null && journal.owner.boot === boot) {
        if (!isStill && (await isAlive(journal.owner.process)) !== false) continue;
        // Read again: it may have been in the middle of its last uses.
        await this.#giveBack(path);
      } else if (!isStill) continue;
      await rm(path, { force: true });
    }
  }

  async #giveBack(path: string): Promise<void> {
    const bytes = await readFile(path).catch(() => null);
    const journal = bytes && readJournal(bytes);
    for (const { accountId, month, id, used } of journal?.blocks ?? [])
      await this.#options.usage.closeBlock(accountId, month, id, used);
  }
}
