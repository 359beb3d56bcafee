import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shardSpecs } from '../../../lib/shard/spec.ts';
import { randomFrom } from '../../support/random.ts';
import { Auditor } from './auditor.ts';
import { type ClusterOptions, collectionOf, SimulatedCluster } from './cluster.ts';
import { FaultInjector } from './fault-injector.ts';
import { type Goal, LivenessGoals } from './liveness-goals.ts';
import { Load } from './load.ts';
import { type Profile, profileOf } from './profile.ts';
import { SOUND } from './simulated-membership.ts';
import type { SimulatedNode } from './simulated-node.ts';
import { TraceHash } from './trace-hash.ts';

const PEACE_MS = 40_000;
/** Time for running operations to finish. */
const REST_MS = 1_000;
/** Time after which unused copies are dropped, including the operations that this causes. */
const FORGOTTEN_MS = 90_000;
const KINDS = 3;

export type Defects = Partial<Pick<ClusterOptions, 'parts' | 'defects' | 'distort' | 'bringsWritesTwice'>>;

export interface Outcome {
  profile: string;
  /** Violations that were observed. */
  faults: string[];
  /** Goals that were not reached in time after the trouble ended. */
  stalls: string[];
  operations: number;
  commits: number;
  epochs: number;
  /** Number of reads answered by copies. */
  copiesRead: number;
  /** Copies dropped for a wrong root, and shards opened from a copy. */
  mismatches: number;
  warmTakeovers: number;
  /** All events, in order. */
  trace: string;
}

/**
 * A cluster with faults for some seconds of virtual time, then without. The same seed gives the
 * same sequence of events.
 */
export class World {
  readonly profile: Profile;
  readonly #random: () => number;
  readonly #defects: Defects;
  readonly #trace = new TraceHash();
  readonly #auditor: Auditor;
  #folder: string | null = null;

  constructor(seed: number, defects: Defects = {}) {
    this.#random = randomFrom(seed);
    this.profile = profileOf(this.#random);
    this.#defects = defects;
    this.#auditor = new Auditor(shardSpecs(collectionOf(this.profile)));
  }

  async run(): Promise<Outcome> {
    const { stackTraceLimit } = Error;
    // Most errors of a run are intended, and their stack traces would be wasted work.
    Error.stackTraceLimit = 0;
    try {
      return await this.#run();
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
      if (this.#folder !== null) rmSync(this.#folder, { recursive: true, force: true });
    }
  }

  async #run(): Promise<Outcome> {
    const auditor = this.#auditor;
    const random = this.#random;
    const { profile } = this;
    const cluster = new SimulatedCluster({
      random,
      profile,
      auditor,
      folder: () => (this.#folder ??= mkdtempSync(join(tmpdir(), 'provec-simulation-'))),
      parts: SOUND,
      defects: {},
      distort: (_op, result) => result,
      bringsWritesTwice: false,
      ...this.#defects,
    });
    const { time, database, nodes } = cluster;
    const step = (): void => {
      auditor.step(database.durable, nodes);
      this.#trace.add(time.nowMs, auditor.commits, auditor.operations);
    };
    const isFaulty = () => auditor.faults.length > 0;
    const load = new Load({ cluster, auditor, random, clients: profile.clients, thinkMaxMs: profile.thinkMaxMs });
    const trouble = new FaultInjector(cluster, profile, random);
    await time.run(profile.troubleMs, step, isFaulty);
    trouble.end();
    load.answered.clear();
    const isAnswered = () => load.answered.size === KINDS;
    await time.run(profile.troubleMs + PEACE_MS, step, () => isAnswered() || isFaulty());
    load.stop();
    const stalls = isAnswered() ? [] : [`in peace only ${[...load.answered]} were answered`];
    const peace = new LivenessGoals(cluster);
    const reach = async (goal: Goal, ms: number, onStep: () => void): Promise<void> => {
      let reached = false;
      void goal.reach().then(() => {
        reached = true;
      });
      await time.run(time.nowMs + ms, onStep, () => reached || isFaulty());
      if (!reached) stalls.push(goal.missed());
    };
    await reach(peace.everyNodeHadAll(), PEACE_MS * profile.shards, step);
    await reach(peace.caughtUp(), PEACE_MS, step);
    if (profile.replicas > 0) await reach(peace.copiesCaughtUp(), PEACE_MS, step);
    await time.run(time.nowMs + REST_MS, step, isFaulty);
    if (stalls.length === 0) auditor.look(nodes);
    const { epochs } = database.durable;
    // The log is gone from here on, so the audit ends.
    if (profile.isDropped && !isFaulty()) await reach(peace.dropped(), FORGOTTEN_MS, () => undefined);
    const count = (countOf: (node: SimulatedNode) => number): number =>
      cluster.lives.reduce((total, node) => total + countOf(node), 0);
    return {
      profile: profile.name,
      faults: auditor.faults,
      stalls: isFaulty() ? [] : stalls,
      operations: auditor.operations,
      commits: auditor.commits,
      epochs,
      copiesRead: load.copiesRead,
      mismatches: count((node) => node.mismatches),
      warmTakeovers: count((node) => node.warmTakeovers),
      trace: this.#trace.digest(),
    };
  }
}
