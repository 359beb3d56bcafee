import type { ShardActor } from '../shard/actor.ts';
import type { NodeMemory } from './node-memory.ts';
import type { Copies, Resident } from './resident.ts';

interface EvictionOptions {
  memory: NodeMemory;
  copies: Copies;
  residents(): Iterable<Resident>;
  /** Saves and closes a shard. */
  close(resident: Resident): Promise<void>;
}

/**
 * Frees memory on a node: first drops copies of shards that other nodes hold, then closes idle
 * shards, least recently used first.
 */
export class Eviction {
  readonly #options: EvictionOptions;

  constructor(options: EvictionOptions) {
    this.#options = options;
  }

  /**
   * Closes idle shards if that makes `bytes` fit, otherwise none. Returns whether they fit now or
   * no shard is open.
   */
  async makeRoom(bytes: number, overdraft: boolean): Promise<boolean> {
    const { memory } = this.#options;
    // A shard too large to ever fit may open alone, so idle shards are closed for it only if that
    // leaves it alone.
    const isAlone = (): boolean => this.#closableBytes() === memory.shards && memory.opening === 0;
    return (await this.#fit(bytes, overdraft, isAlone)) || (memory.shards === 0 && memory.opening === 0);
  }

  /**
   * Drops copies and closes shards, except `kept`, until `bytes` of the memory limit are free.
   * Returns false if there was nothing to drop or close.
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
      // Skip a shard that will close as soon as it is open: it may itself be waiting for this
      // memory.
      if (!actor || (!closing && (actor === kept || !isIdle(resident)))) continue;
      excess -= actor.size.bytes;
      closings.push(closing ?? close(resident));
    }
    await Promise.all(closings);
    return hasShed || closings.length > 0;
  }

  /**
   * Allocates `bytes` of work memory, closing idle shards if necessary. Returns false if they do
   * not fit.
   */
  async allocateWorkMemory(bytes: number): Promise<boolean> {
    const isHeld = await this.#fit(bytes, false, () => false);
    if (isHeld) this.#options.memory.workMemory += bytes;
    return isHeld;
  }

  /** Drops copies. Then closes idle shards if that makes `bytes` fit or `anyway` returns true. */
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
