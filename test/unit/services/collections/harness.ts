import { randomUUID } from 'node:crypto';
import type { Context, ServiceBroker, ServiceSchema } from 'moleculer';
import type { AnchoringActions, AnchorReceipt } from '../../../../contracts/actions/anchoring.ts';
import type { ActionName, Actions } from '../../../../contracts/actions/call.ts';
import { LEDGER_PROGRAM } from '../../../../lib/ledger/program.ts';
import type { PlanName } from '../../../../lib/plans.ts';
import { type Clock, SYSTEM_CLOCK } from '../../../../lib/time/clock.ts';
import { type Config, readConfig } from '../../../../process/config.ts';
import collectionsService from '../../../../services/collections/collections.service.ts';
import keysService from '../../../../services/keys/keys.service.ts';
import meteringService from '../../../../services/metering/metering.service.ts';
import type { AnchorRow } from '../../../../store/anchors.ts';
import type { Store } from '../../../../store/port.ts';
import type { ClientParams } from '../../../support/client-call.ts';
import { openTemporaryStore, startWorld, type TemporaryStore, type World } from '../../../support/world.ts';
import { ShardsInMemory } from './shards.ts';

type Submitted = AnchoringActions['anchoring.submit']['params'];

/** Replaces the anchoring service: records its calls and responds as the test says. */
class AnchoringInMemory {
  readonly submitted: Submitted[] = [];
  /** Calls of `anchoring.confirmation`, which are answered like those of `submit`. */
  readonly confirmations: Submitted[] = [];
  readonly closed: string[] = [];
  readonly rows = new Map<string, AnchorRow>();
  answer: (params: Submitted) => AnchorReceipt | Promise<AnchorReceipt> = () => ({
    status: 'pending',
    signature: null,
    explorerUrl: null,
  });
  closing: () => Promise<void> = async () => undefined;
  history: AnchoringActions['anchoring.history']['result']['items'] = [];

  schema(): ServiceSchema {
    return {
      name: 'anchoring',
      actions: {
        submit: ({ params }: Context<Submitted>) => {
          this.submitted.push(params);
          return this.answer(params);
        },
        confirmation: ({ params }: Context<Submitted>) => {
          this.confirmations.push(params);
          return this.answer(params);
        },
        state: ({ params }: Context<{ collectionId: string }>) => this.rows.get(params.collectionId) ?? null,
        address: () => ({ address: 'Address', explorerUrl: 'https://explorer.test/address' }),
        explorerUrl: ({ params }: Context<{ signature: string }>) => `https://explorer.test/tx/${params.signature}`,
        info: () => ({ enabled: true, program: LEDGER_PROGRAM, authority: 'Authority', cluster: 'custom' }),
        history: ({ params: { limit, before } }: Context<{ limit: number; before: number | null }>) => {
          const found = this.history.filter(({ position }) => before === null || position < before);
          const items = found.slice(0, limit);
          return { items, faults: [], dropped: 0, next: found.length > limit ? items.at(-1)?.position : null };
        },
        close: async ({ params }: Context<{ collectionId: string }>) => {
          await this.closing();
          this.closed.push(params.collectionId);
          return null;
        },
      },
    };
  }
}

/**
 * The collections service over a real store, with real keys and metering, but shards and anchoring
 * in memory.
 */
export class Harness {
  readonly shards: ShardsInMemory;
  readonly anchoring = new AnchoringInMemory();
  readonly config: Config;
  readonly store: Store;
  readonly #opened: TemporaryStore;
  readonly #environment: Record<string, string>;
  readonly #clock: Clock;
  #world: World | null = null;

  private constructor(opened: TemporaryStore, environment: Record<string, string>, clock: Clock) {
    this.#opened = opened;
    this.#environment = { PROVEC_DATA_DIR: opened.folder, ...environment };
    this.#clock = clock;
    this.config = readConfig(this.#environment);
    this.store = opened.store;
    this.shards = new ShardsInMemory(opened.store);
  }

  static async open(environment: Record<string, string> = {}, clock: Clock = SYSTEM_CLOCK): Promise<Harness> {
    const harness = new Harness(await openTemporaryStore(), environment, clock);
    await harness.startServices();
    return harness;
  }

  get broker(): ServiceBroker {
    return this.#world!.broker;
  }

  async startServices(): Promise<void> {
    const others = [() => this.shards.schema(), () => this.anchoring.schema()];
    this.#world = await startWorld({
      environment: this.#environment,
      store: this.store,
      clock: this.#clock,
      services: [collectionsService, keysService, meteringService, ...others],
      broker: { tracking: { enabled: true } },
    });
  }

  async stopServices(): Promise<void> {
    await this.broker.stop();
  }

  async account(plan: PlanName): Promise<string> {
    const { account } = await this.call('keys.createAccount', { name: `test ${randomUUID()}`, plan });
    return account.id;
  }

  /** Calls an action as the gateway does; a body is given as a client sends it. */
  call<N extends ActionName>(
    action: N,
    params: ClientParams<N>,
    options: Record<string, unknown> = {},
  ): Promise<Actions[N]['result']> {
    return this.#world!.call(action, params, options);
  }

  async close(): Promise<void> {
    await this.stopServices();
    await this.#opened.destroy();
  }
}
