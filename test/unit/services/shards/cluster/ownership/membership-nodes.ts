import pino from 'pino';
import type { ProcessIdentity } from '../../../../../../lib/host/process-identity.ts';
import { NodeMembership } from '../../../../../../services/shards/cluster/ownership/node-membership.ts';
import type { Holder, LeaseRow, LeaseStore, OwnerRow } from '../../../../../../store/owners.ts';
import { type Store, StoreError } from '../../../../../../store/port.ts';
import { NodeTime, VirtualTime } from '../../../../../simulation/ownership/virtual-time.ts';

const LOG = pino({ level: 'silent' });
export const SHARD = 'c0000000-0000-4000-8000-000000000001.0';
const STORE_MS = 5;

/** Nodes over leases and owners in memory, each with its own connection to them. */
export class Nodes {
  readonly time = new VirtualTime();
  readonly leases = new Map<string, LeaseRow>();
  readonly owners = new Map<string, OwnerRow>();
  readonly cut = new Set<string>();
  /**
   * Time when the transport last delivered something from one node to another, including occasional
   * heartbeats.
   */
  readonly heardMs = new Map<string, number>();
  /** Nodes that calls do not reach. */
  readonly unheard = new Set<string>();
  readonly dead: { at: number; by: string; node: string }[] = [];
  readonly members = new Map<string, NodeMembership>();
  isDown = false;
  /** Store calls are answered from this time on, earlier ones included. */
  answersFromMs = 0;
  /** Runs when an existing lease is about to be ended. */
  beforeEnd: (row: LeaseRow) => void = () => undefined;
  /** Number of full reads, and the ids of each partial read. */
  lists = 0;
  gets: string[][] = [];

  async start(node: string, process: ProcessIdentity, rate = 1): Promise<NodeMembership> {
    const time = new NodeTime(this.time, rate, 0);
    const member = new NodeMembership({
      store: this.#storeOf(node),
      clock: time,
      timers: time,
      node,
      process,
      log: LOG,
      use: () => ({ bytes: 0, memoryLimitBytes: node === 'large' ? 4 : 1, load: 0, workers: 1 }),
      silenceMs: () => this.time.nowMs - (this.heardMs.get(node) ?? this.time.nowMs),
    });
    member.events.on('dead', (dead) => this.dead.push({ at: this.time.nowMs, by: node, node: dead }));
    this.members.set(node, member);
    const started = member.start();
    await this.time.run(this.time.nowMs + 200);
    await started;
    return member;
  }

  /** From now on, every node receives heartbeats of the others, except those in `unheard`. */
  heartbeats(): void {
    const beat = (node: string): void => {
      if (!this.unheard.has(node)) this.heardMs.set(node, this.time.nowMs);
      this.time.after(1_700, () => beat(node));
    };
    for (const [at, node] of [...this.members.keys()].entries()) this.time.after(at * 300, () => beat(node));
  }

  async over<T>(work: Promise<T>, forMs = 2_000): Promise<T> {
    work.catch(() => undefined);
    await this.time.run(this.time.nowMs + forMs);
    return work;
  }

  #storeOf(node: string): Pick<Store, 'owners' | 'leases' | 'log'> {
    const reach = async <T>(work: () => T): Promise<T> => {
      await this.time.delay(Math.max(STORE_MS, this.answersFromMs - this.time.nowMs));
      if (this.isDown || this.cut.has(node)) throw new StoreError('unavailable', 'out of reach');
      return work();
    };
    const { leases: rows, owners: held } = this;
    const leases: LeaseStore = {
      begin: (row) => reach(() => void rows.set(row.incarnation, row)),
      renew: (incarnation, beat, draining, use) =>
        reach(() => {
          const row = rows.get(incarnation);
          if (row) rows.set(incarnation, { ...row, beat, draining, ...(use && { use }) });
          return row !== undefined;
        }),
      list: () =>
        reach(() => {
          this.lists++;
          return [...rows.values()];
        }),
      get: (incarnations) =>
        reach(() => {
          this.gets.push([...incarnations]);
          return incarnations.flatMap((incarnation) => rows.get(incarnation) ?? []);
        }),
      end: (incarnation, beat) =>
        reach(() => {
          const there = rows.get(incarnation);
          if (there) this.beforeEnd(there);
          if (beat !== undefined && (rows.get(incarnation)?.beat ?? beat) !== beat) return false;
          rows.delete(incarnation);
          return true;
        }),
    };
    const owners = {
      get: (shard: string) => reach(() => held.get(shard) ?? null),
      claim: (row: OwnerRow) =>
        reach(() => {
          if ((held.get(row.shard)?.epoch ?? 0) !== row.epoch - 1) return false;
          held.set(row.shard, row);
          return true;
        }),
      release: (shard: string, epoch: number, to?: Holder) =>
        reach(() => {
          const row = held.get(shard);
          if (row?.epoch === epoch) held.set(shard, { ...row, holder: to ?? null });
        }),
    };
    const log = { head: async () => null, append: async () => 'committed' };
    return { leases, owners, log } as unknown as Pick<Store, 'owners' | 'leases' | 'log'>;
  }
}

/** A process on another machine, whose state cannot be checked. */
let machines = 0;
export const elsewhere = (): ProcessIdentity => ({ pid: 1, startedAt: null, place: `machine ${machines++}` });
