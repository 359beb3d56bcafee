import type { ShardActor } from '../shard/actor.ts';
import type { NodeMemory } from './node-memory.ts';
import type { Copies, Resident } from './resident.ts';

interface EvictionOptions {
  memory: NodeMemory;
  copies: Copies;
  residents(): Iterable<Resident>;
  /** Lets a shard out of memory, saved. */
  close(resident: Resident): Promise<void>;
}

/**
 * Makes room in a node's memory: copies of what other nodes hold go first, then shards that nobody
 * uses, least recently used first.
 */
export class Eviction {
  readonly #options: EvictionOptions;

  constructor(options: EvictionOptions) {
    this.#options = options;
  }

  /**
   * Closes idle shards if that makes `bytes` fit, or leaves them all; says whether they fit now, or
   * nothing is open at all.
   */
  async make(bytes: number, overdraft: boolean): Promise<boolean> {
    const { memory } = this.#options;
    // What can never fit gets in when it is alone; others are not closed in vain.
    const isAlone = (): boolean => this.#closableBytes() === memory.shards && memory.opening === 0;
    return (await this.#fit(bytes, overdraft, isAlone)) || (memory.shards === 0 && memory.opening === 0);
  }

  /**
   * Goes on until `bytes` of the memory limit are free or nothing is left to drop or close but
   * `kept`; false when nothing was.
   */
  async free(bytes: number, kept: ShardActor | null = null): Promise<boolean> {
    const { memory, copies, residents, close } = this.#options;
    let excess = memory.excess(bytes);
    const hasShed = excess > 0 && (await copies.shed(excess));
    excess = memory.excess(bytes);
    const closings: Promise<void>[] = [];
    for (const resident of byLastUse(residents())) {
      if (excess <= 0) break;
      const { actor, closing } = resident;
      // One that is to close as soon as it is open may itself be waiting for the room that is made
      // here.
      if (!actor || (!closing && (actor === kept || !isIdle(resident)))) continue;
      excess -= actor.size.bytes;
      closings.push(closing ?? close(resident));
    }
    await Promise.all(closings);
    return hasShed || closings.length > 0;
  }

  /**
   * Counts `bytes` as held beside the shards, once idle ones have made room where they had to;
   * false when they do not fit.
   */
  async hold(bytes: number): Promise<boolean> {
    const isHeld = await this.#fit(bytes, false, () => false);
    if (isHeld) this.#options.memory.beside += bytes;
    return isHeld;
  }

  /** Drops copies and then, if it makes `bytes` fit or `anyway`, closes idle shards. */
  async #fit(bytes: number, overdraft: boolean, anyway: () => boolean): Promise<boolean> {
    const { memory, copies } = this.#options;
    if (memory.fits(bytes, overdraft)) return true;
    await copies.shed(bytes);
    if (memory.fits(bytes, overdraft)) return true;
    if (!anyway() && !memory.fits(bytes, overdraft, this.#closableBytes())) return false;
    await this.free(memory.reserved + bytes);
    return memory.fits(bytes, overdraft);
  }

  #closableBytes(): number {
    let bytes = 0;
    for (const resident of this.#options.residents())
      if (resident.actor && !resident.closing && isIdle(resident)) bytes += resident.actor.size.bytes;
    return bytes;
  }
}

function isIdle({ actor, uses }: Resident): boolean {
  return uses === 0 && !actor?.writing;
}

function byLastUse(residents: Iterable<Resident>): Resident[] {
  return [...residents].sort((a, b) => a.lastUsedMs - b.lastUsedMs);
}
