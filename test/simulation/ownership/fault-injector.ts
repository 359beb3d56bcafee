import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { SimulatedCluster } from './cluster.ts';
import type { FaultKind, Profile } from './profile.ts';
import { NO_FAULTS } from './simulated-network.ts';
import type { SimulatedNode } from './simulated-node.ts';

const PAUSE_MAX_MS = 15_000;
const CUT_MAX_MS = 12_000;
const STORM_MAX_MS = 8_000;
const SPOILT_MAX_MS = 6_000;
const DOWN_MAX_MS = 1_500;
const STAND_STILL_MS = 6_000;
const ABSENCE_MAX_MS = 2_000;
/** LATE_MAX_MS is below the timeout of a store call; LATE_MIN_MS is above DEAD_AFTER_MS. */
const LATE_MAX_MS = 3_900;
const LATE_MIN_MS = 8_000;
const STUCK_MIN_MS = 7_000;
const STUCK_WINDOW_MS = 300;

/**
 * Causes one fault after another, as the profile specifies, until stopped; then repairs everything.
 */
export class FaultInjector {
  readonly #cluster: SimulatedCluster;
  readonly #profile: Profile;
  readonly #random: () => number;
  readonly #makers: Record<FaultKind, (node: SimulatedNode) => void>;
  #isOver = false;

  constructor(cluster: SimulatedCluster, profile: Profile, random: () => number) {
    this.#cluster = cluster;
    this.#profile = profile;
    this.#random = random;
    this.#makers = {
      kill: (node) => cluster.kill(node),
      pause: (node) => {
        node.time.pause();
        this.#after(PAUSE_MAX_MS, () => !node.wire.isDead && node.time.resume());
      },
      cut: (node) => this.#cut(node, this.#random() * CUT_MAX_MS),
      storm: () => {
        cluster.wireWeather = profile.storm;
        this.#after(STORM_MAX_MS, () => {
          cluster.wireWeather = profile.wire;
        });
      },
      'worker lost': (node) => node.loseWorker(),
      rest: (node) => void node.rest(this.#anyShard()).catch(ignore),
      materialise: (node) => void node.materialise(this.#anyShard()).catch(ignore),
      save: () => {
        const spec = this.#anyShard();
        void cluster.holder(spec)?.save(spec).catch(ignore);
      },
      move: () => {
        const spec = this.#anyShard();
        void cluster.holder(spec)?.move(spec, cluster.pick(cluster.nodes).name).catch(ignore);
      },
      spoil: (node) => this.#spoil(cluster.nodes.find((other) => other.copies().length > 0) ?? node),
      shed: (node) => void node.shed().catch(ignore),
      leave: (node) => this.#leave(node),
      join: () => {
        if (cluster.nodes.length < profile.nodes + 1) cluster.boot(cluster.nodes.length);
      },
      failover: () => this.#failover(),
      'stand-still': () => {
        cluster.database.lagMs = () => STAND_STILL_MS;
        this.#after(STAND_STILL_MS / 2, () => this.#catchUp());
      },
      'stuck writes': () => this.#stickWrites(),
      'end of lease': () => this.#endLease(),
    };
    this.#next();
  }

  end(): void {
    const { database, nodes } = this.#cluster;
    this.#isOver = true;
    this.#cluster.wireWeather = NO_FAULTS;
    this.#cluster.lineWeather = NO_FAULTS;
    database.isDown = false;
    database.lagMs = () => 0;
    for (const node of nodes) {
      const { time, wire } = node;
      node.isSpoilt = false;
      wire.isCut = false;
      wire.answerDelayMs = () => 0;
      wire.writeDelayMs = 0;
      if (!wire.isDead) time.resume();
    }
  }

  #next(): void {
    const { restMaxMs, troubles } = this.#profile;
    this.#after(restMaxMs, () => {
      this.#makers[this.#cluster.pick(troubles)](this.#cluster.pick(this.#cluster.nodes));
      this.#next();
    });
  }

  /** Calls `run` within `maxMs`, unless all trouble has ended by then. */
  #after(maxMs: number, run: () => void): void {
    this.#cluster.time.after(this.#random() * maxMs, () => !this.#isOver && run());
  }

  #anyShard(): ShardSpec {
    return this.#cluster.pick(this.#cluster.specs);
  }

  #cut({ wire }: SimulatedNode, ms: number): void {
    wire.isCut = true;
    this.#cluster.time.after(ms, () => {
      wire.isCut = false;
    });
  }

  #spoil(node: SimulatedNode): void {
    node.isSpoilt = true;
    node.wasSpoilt = true;
    this.#after(SPOILT_MAX_MS, () => {
      node.isSpoilt = false;
    });
  }

  #leave(node: SimulatedNode): void {
    const cluster = this.#cluster;
    if (node.isLeaving || node.wire.isDead) return;
    const boot = (): void => {
      cluster.time.after(this.#random() * ABSENCE_MAX_MS, () => {
        if (cluster.nodes.includes(node) && !node.wire.isDead) cluster.boot(cluster.nodes.indexOf(node));
      });
    };
    node.leave().then(boot, boot);
  }

  #failover(): void {
    const { database } = this.#cluster;
    if (database.isDown) return;
    database.failover(this.#random());
    database.isDown = true;
    this.#after(DOWN_MAX_MS, () => {
      database.isDown = false;
    });
  }

  #catchUp(): void {
    const { lagMaxMs } = this.#profile;
    this.#cluster.database.lagMs = () => this.#random() * lagMaxMs;
  }

  /** Delays the holder's writes until its lease has expired, and pauses the holder until then. */
  #stickWrites(): void {
    const spec = this.#anyShard();
    const holder = this.#cluster.holder(spec);
    if (!holder || holder.wire.writeDelayMs > 0) return;
    const { time } = this.#cluster;
    void holder.materialise(spec).catch(ignore);
    holder.wire.writeDelayMs = STUCK_MIN_MS + this.#random() * 3_000;
    time.after(STUCK_WINDOW_MS, () => holder.time.pause());
    time.after(STUCK_MIN_MS + this.#random() * 4_000, () => {
      holder.wire.writeDelayMs = 0;
      if (!holder.wire.isDead) holder.time.resume();
    });
  }

  /**
   * Delays responses to the holder's calls for a while, then cuts its calls off, while clients
   * still reach it.
   */
  #endLease(): void {
    const holder = this.#cluster.holder(this.#anyShard());
    if (!holder || holder.wire.isCut) return;
    const late = this.#random() < 0.5;
    if (late) holder.wire.answerDelayMs = () => LATE_MAX_MS * (0.6 + 0.4 * this.#random());
    this.#cluster.time.after(this.#random() * 3_000, () => {
      this.#cut(holder, LATE_MIN_MS + this.#random() * 4_000);
      this.#cluster.time.after(LATE_MAX_MS, () => {
        holder.wire.answerDelayMs = () => 0;
      });
    });
  }
}

function ignore(): void {}
