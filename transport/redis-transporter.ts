/**
 * Moleculer's Redis transporter with its faults fixed.
 *
 * It accepts only packets that a member of the cluster sealed. No call is sent, subscribed to or
 * run twice. No call is sent after its caller was told that it failed, unless a stalled Redis had
 * already accepted it.
 * A message that Redis rejects, or delivers to no one, fails its call at once with a retryable
 * error. A lost connection, or `redisReplyMaxMs` without a reply, fails every call in flight with
 * an unknown outcome. Calls resume at most `reconnectMaxMs` after Redis is back.
 * See docs/internals/transport.md.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Errors, Transporters } from 'moleculer';
import { backoffMs } from '../lib/time/backoff.ts';
import { pause, withTimeLimit } from '../lib/time/timers.ts';
import { NoReceiver } from './outbound-messages.ts';
import { LinkLost, type OnMessage, type RedisClient, RedisLink } from './redis-link.ts';
import { redisOptions } from './redis-options.ts';
import { SealedMessages, type TransportParts } from './sealed-messages.ts';
import type { TransportLimits } from './transport-limits.ts';
import { failureResponse, type Packet } from './undelivered.ts';

interface RedisTransporterOptions extends TransportParts {
  url: string;
}

const REQUEST = 'REQ';
const ANSWER = 'RES';
const HEARTBEAT = 'HEARTBEAT';
const FAREWELL = 'DISCONNECT';

export class RedisTransporter extends Transporters.Redis {
  readonly #options: RedisTransporterOptions;
  readonly #limits: TransportLimits;
  readonly #stop = new AbortController();
  /** Channels of this node; every link subscribes to all of them before it is used. */
  readonly #channels = new Set<string>();
  /** Nodes that a message did not reach, until it is known whether they are gone. */
  readonly #doubted = new Set<string>();
  #messages!: SealedMessages;
  #link: RedisLink | null = null;
  #onLink: (() => void)[] = [];

  constructor(options: RedisTransporterOptions) {
    super({});
    this.#options = options;
    this.#limits = options.limits;
  }

  override init(...args: Parameters<Transporters.Redis['init']>): void {
    super.init(...args);
    const wire = (cmd: string, target: string | null, packet: Buffer) => this.#publish(cmd, target, packet);
    this.#messages = new SealedMessages(this, wire, this.#options, {
      // Heartbeats announce this node.
      announce: () => undefined,
      onMember: (nodeID) => void this.broker.registry.discoverer.sendLocalNodeInfo(nodeID),
    });
  }

  /** Resolves once Redis responds; rejects after `redisAtStartMaxMs` with an operator's message. */
  async reach(): Promise<void> {
    const endMs = performance.now() + this.#limits.redisAtStartMaxMs;
    const { link } = await this.#open(new Set(), () => undefined, endMs);
    link?.close(new LinkLost('This was only a connection test.'));
  }

  /**
   * Opens a link, retrying until `endMs`; then throws an operator's message. `link` is null if this
   * node disconnects.
   */
  async #open(channels: ReadonlySet<string>, onMessage: OnMessage, endMs = Number.POSITIVE_INFINITY) {
    let failures = 0;
    for (; !this.#stop.signal.aborted; failures++) {
      try {
        return { link: await RedisLink.open(() => this.#makeClient(), [...channels], onMessage), failures };
      } catch (error) {
        if (failures === 0) this.#options.log.warn({ err: error }, 'cannot reach Redis; trying again');
        if (performance.now() >= endMs)
          throw new Error(`Redis at ${new URL(this.#options.url).host} cannot be reached.`, { cause: error });
        await this.#pause(failures);
      }
    }
    return { link: null, failures };
  }

  /** Resolves once this node is connected; retries forever. */
  override connect(): Promise<void> {
    return new Promise((resolve) => void this.#stayConnected(resolve));
  }

  override async disconnect(): Promise<void> {
    await this.#messages.channel.drain();
    this.#stop.abort();
    this.connected = false;
    this.#link?.close(new LinkLost('This node is disconnecting.'));
    this.#wakeAnswers();
    this.#messages.close();
  }

  /** A subscription that fails closes its link; the next link includes it. */
  override async subscribe(cmd: string, nodeID?: string): Promise<void> {
    const channel = this.getTopicName(cmd, nodeID);
    this.#channels.add(channel);
    await this.#link?.subscribe(channel).catch((error: Error) => this.#link?.close(error));
  }

  override async prepublish(packet: Packet): Promise<void> {
    if (packet.type === ANSWER) return this.#answer(packet);
    if (packet.type === HEARTBEAT) this.#link?.probe();
    // A node that receives the DISCONNECT packet stops waiting for responses still being sent.
    if (packet.type === FAREWELL) await this.#messages.channel.drain();
    return super.prepublish(packet);
  }

  override async send(_topic: string, data: Buffer, meta?: Record<string, unknown>): Promise<void> {
    const packet = meta?.packet as Packet;
    await this.#messages.send(packet.type, packet, data);
  }

  async #stayConnected(onFirst: () => void): Promise<void> {
    const { log, metrics } = this.#options;
    const received: OnMessage = (channel, packet) => this.#received(channel, packet);
    for (let wasConnected = false; ; wasConnected = true) {
      const { link, failures } = await this.#open(this.#channels, received);
      if (link === null) return;
      if (wasConnected) metrics.reconnects.inc();
      if (wasConnected || failures > 0) log.info('connected to Redis');
      if (this.#stop.signal.aborted) return link.close(new LinkLost('This node is disconnecting.'));
      await this.#useUntilLost(link, wasConnected, onFirst);
    }
  }

  async #useUntilLost(link: RedisLink, wasConnected: boolean, onFirst: () => void): Promise<void> {
    const { log } = this.#options;
    this.#link = link;
    this.#wakeAnswers();
    this.onConnected(wasConnected)
      .then(onFirst)
      .catch((error: unknown) => log.error({ err: error }, 'could not announce this node to the others'));
    const reason = await link.lost;
    this.connected = false;
    this.#link = null;
    this.#messages.channel.wireLost(new LinkLost('The connection to Redis was lost.', { cause: reason }));
    if (this.#stop.signal.aborted) return;
    log.warn({ err: reason }, 'the connection to Redis is lost');
    for (const nodeID of this.#awaitedNodes()) this.transit.removePendingRequestByNodeID(nodeID);
    await this.#pause(0);
  }

  #awaitedNodes(): Set<string> {
    return new Set([...this.transit.pendingRequests.values()].map(({ nodeID }) => nodeID));
  }

  /** Waits between attempts: longer after every failure, with random jitter. */
  async #pause(failures: number): Promise<void> {
    const { reconnectMinMs: minMs, reconnectMaxMs: maxMs } = this.#limits;
    const ms = backoffMs(failures, { minMs, maxMs }) * (0.75 + Math.random() / 4);
    await pause(ms, this.#stop.signal);
  }

  #makeClient(): RedisClient {
    return this.getRedisClient(redisOptions(this.#options.url, this.#limits)) as unknown as RedisClient;
  }

  #received(channel: string, packet: Buffer): void {
    const [cmd = ''] = channel.slice(this.prefix.length + 1).split('.', 1);
    const message = this.#messages.receive(cmd, packet);
    if (message !== null) void this.receive(cmd, message);
  }

  async #publish(cmd: string, target: string | null, packet: Buffer): Promise<void> {
    if (this.#link === null) throw new LinkLost('There is no connection to Redis.');
    const receivers = await this.#link.publish(this.getTopicName(cmd, target ?? undefined), packet);
    if (receivers > 0 || target === null) return;
    void this.#doubt(target);
    // Without this part the message stays incomplete.
    throw new NoReceiver(target);
  }

  /**
   * Marks a node as disconnected unless it subscribes again within `absentMaxMs`: after a reconnect
   * it still has responses to send.
   */
  async #doubt(nodeID: string): Promise<void> {
    if (this.#doubted.has(nodeID)) return;
    this.#doubted.add(nodeID);
    try {
      await delay(this.#limits.absentMaxMs, undefined, { ref: false, signal: this.#stop.signal });
      if ((await this.#link?.subscribers(this.getTopicName(REQUEST, nodeID))) === 0)
        this.broker.registry.nodes.disconnected(nodeID, true);
    } catch (error) {
      this.#options.log.debug({ err: error }, 'could not find out whether a node is gone');
    } finally {
      this.#doubted.delete(nodeID);
    }
  }

  async #answer(packet: Packet): Promise<void> {
    const endMs = performance.now() + this.#limits.answerHeldMaxMs;
    for (;;) {
      const link = await this.#linked(endMs);
      try {
        return await this.publish(packet);
      } catch (error) {
        if (error instanceof Errors.BrokerDisconnectedError && performance.now() < endMs) {
          await link.lost;
          continue;
        }
        const instead = failureResponse(packet, this, error);
        if (instead === null) throw error;
        return await this.#answer(instead);
      }
    }
  }

  #wakeAnswers(): void {
    for (const wake of this.#onLink.splice(0)) wake();
  }

  /** Waits for a connection until `endMs`; rejects if there is none by then. */
  async #linked(endMs: number): Promise<RedisLink> {
    if (this.#link === null) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onLink.push(resolve);
      await withTimeLimit(promise, Math.max(0, endMs - performance.now()), () => undefined);
    }
    if (this.#link === null) throw new Errors.BrokerDisconnectedError('');
    return this.#link;
  }
}
