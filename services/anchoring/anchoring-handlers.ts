import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceBroker } from 'moleculer';
import type { AnchorReceipt } from '../../contracts/actions/anchoring.ts';
import { call } from '../../contracts/actions/call.ts';
import type { AccountId, CollectionId } from '../../lib/ids.ts';
import { LEDGER_PROGRAM } from '../../lib/ledger/program.ts';
import { EMPTY_HEAD } from '../../lib/shard/head.ts';
import { shardSpec, shardSpecs } from '../../lib/shard/spec.ts';
import type { Handlers } from '../../mixins/handled-actions.ts';
import type { Runtime } from '../../process/runtime.ts';
import type { AnchorStore, ConfirmedAnchor } from '../../store/anchors.ts';
import { Anchoring } from './anchoring.ts';
import type { AnchoringOptions } from './context.ts';
import { openAuthority } from './ledger/authority.ts';
import { explorerLinks } from './ledger/explorer.ts';
import { fundFromEmbeddedLedger, warnOfLowFunds } from './ledger/funds.ts';
import { LedgerClient } from './ledger/ledger-client.ts';
import { LedgerUnreachableError, type RpcEndpoints, RpcPool } from './ledger/rpc-pool.ts';
import { AnchorHistory } from './outbox/anchor-history.ts';
import { closeRow } from './outbox/decisions.ts';
import { sealed, sealKeyOf } from './outbox/row-seal.ts';
import { hasContradiction } from './recovery/contradiction.ts';
import { retireAll } from './recovery/retire-all.ts';

/** The part of the embedded ledger that anchoring needs. */
export interface EmbeddedLedger {
  readonly url: string;
  /** Keeps the transactions that this address pays for, no matter how many others there are. */
  keepOf(payer: string): void;
}

const KEYPAIR_FILE = 'ledger-keypair.json';
const NO_ANCHOR: AnchorReceipt = { status: 'none', signature: null, explorerUrl: null };
const PENDING: AnchorReceipt = { status: 'pending', signature: null, explorerUrl: null };
const NO_STATS = { pending: 0, oldestPendingSeconds: 0, confirmed: 0, failures: 0, halted: 0 };
const TURNED_OFF = 'Anchoring is turned off.';

/** Handlers of the actions that write roots to the ledger and show what is there. */
export class AnchoringHandlers {
  readonly #runtime: Runtime;
  readonly #embedded: EmbeddedLedger | null;
  readonly #broker: () => ServiceBroker;
  readonly #endpoints: RpcEndpoints;
  readonly #link: ReturnType<typeof explorerLinks>;
  readonly #keypairFile: string;
  readonly #stopping = new AbortController();
  #anchors: AnchorStore;
  #past: AnchorHistory;
  #running: { anchoring: Anchoring; ledger: LedgerClient; pool: RpcPool } | null = null;
  #retirement: Promise<void> | null = null;

  /** `broker` is called once the service has been created. */
  constructor(runtime: Runtime, embedded: EmbeddedLedger | null, broker: () => ServiceBroker) {
    const { config, store } = runtime;
    this.#runtime = runtime;
    this.#embedded = embedded;
    this.#broker = broker;
    this.#endpoints = {
      embedded: embedded !== null,
      urls: () => (embedded ? [embedded.url] : (config.solanaRpcUrls ?? [])),
    };
    this.#link = explorerLinks(config, embedded !== null, () => this.#endpoints.urls()[0] ?? null);
    this.#keypairFile = config.solanaKeypair ?? join(config.dataDir, KEYPAIR_FILE);
    this.#anchors = store.anchors;
    this.#past = new AnchorHistory(store.anchors, null, (collectionId) => store.anchors.get(collectionId));
  }

  readonly actions: Handlers<'anchoring'> = {
    submit: async ({ params }) => {
      if (!this.#running) return NO_ANCHOR;
      const { collectionId, cut, waitMs } = params;
      return this.#receiptOf(await this.#running.anchoring.submit(collectionId, cut, waitMs));
    },
    confirmation: async ({ params }) => {
      if (!this.#running) return NO_ANCHOR;
      const { collectionId, cut, waitMs } = params;
      return this.#receiptOf(await this.#running.anchoring.confirmation(collectionId, cut, waitMs));
    },
    state: ({ params }) => this.#anchors.get(params.collectionId),
    address: async ({ params }) => {
      if (!this.#running) return null;
      const address = await this.#running.ledger.address(params.collectionId);
      return { address, explorerUrl: this.#link('address', address) };
    },
    onChain: async ({ params }) => {
      if (!this.#running) return { status: 'unreachable', reason: TURNED_OFF, address: '', explorerUrl: null };
      const { collectionId } = params;
      const { ledger } = this.#running;
      const address = await ledger.address(collectionId);
      const where = { address, explorerUrl: this.#link('address', address) };
      const expected = await this.#anchors.get(collectionId);
      try {
        const { account } = await ledger.survey(collectionId, expected);
        if (account.status === 'absent') return { status: 'absent', reason: 'The account does not exist.', ...where };
        if (account.status === 'foreign') return { ...account, ...where };
        if (account.fields === null) return { status: 'absent', reason: 'The account has no root yet.', ...where };
        return { status: 'found', ...account.fields, ...where };
      } catch (error) {
        const reason = error instanceof LedgerUnreachableError ? error.message : 'The ledger refused to answer.';
        return { status: 'unreachable', reason, ...where };
      }
    },
    explorerUrl: ({ params }) => this.#link('tx', params.signature),
    history: async ({ params }) => {
      const page = await this.#past.page(params.collectionId, params.limit, params.before);
      return { ...page, items: page.items.map((item) => ({ ...item, explorerUrl: this.#link('tx', item.signature) })) };
    },
    halt: async ({ params }) => {
      await this.#running?.anchoring.halt(params.collectionId, params.reason);
      return null;
    },
    resume: async ({ params: { collectionId } }) => {
      const { store } = this.#runtime;
      const anchoring = this.#running?.anchoring;
      const shown = await anchoring?.shown(collectionId);
      const collection = await store.catalog.getCollection(collectionId);
      // Comes first: a shard that opens again must not find the same contradiction.
      if (collection && (await hasContradiction(store, collection, this.#headsAt)))
        for (const shard of shardSpecs(collection)) await call(this.#broker(), 'shards.resume', { shard });
      if (anchoring) await anchoring.resume(collectionId, shown!);
      else await store.contradictions.clear(collectionId);
      return null;
    },
    close: async ({ params: { collectionId } }) => {
      if (this.#running) await this.#running.anchoring.close(collectionId);
      // The deletion must be known when the ledger is turned on again.
      else if (existsSync(this.#keypairFile)) await closeRow(this.#anchors, collectionId);
      return null;
    },
    info: () => {
      const { config } = this.#runtime;
      return {
        enabled: config.ledger === 'on',
        program: LEDGER_PROGRAM,
        authority: this.#running?.ledger.authority ?? null,
        cluster: config.solanaCluster,
        rpc: this.#endpoints.urls().map((url) => new URL(url).origin),
        isEmbedded: this.#embedded !== null,
      };
    },
    balance: async () => {
      try {
        return { lamports: this.#running === null ? null : Number(await this.#running.ledger.balance()) };
      } catch {
        // Null says that it does not answer; anchors that fail log why.
        return { lamports: null };
      }
    },
    stats: async () => (await this.#running?.anchoring.stats()) ?? NO_STATS,
  };

  /** Another instance changed the row of a collection. */
  rowChanged(collectionId: CollectionId): void {
    this.#running?.anchoring.rowChanged(collectionId);
  }

  /** Anchors an account's collections in the background, after its plan changed. */
  takeUpAccount(accountId: AccountId): void {
    this.#running?.anchoring.takeUpAccount(accountId).catch((error: unknown) => {
      this.#runtime.log.warn({ err: error }, "could not catch up on an account's collections yet");
    });
  }

  /** Anchors the collections of every account in the background, after a plan changed. */
  takeUpAll(): void {
    this.#runtime.plans.forget();
    this.#running?.anchoring.takeUpAll();
  }

  /** Throws ConfigError if there is no keypair to sign with. */
  async start(): Promise<void> {
    if (this.#runtime.config.ledger === 'on') await this.#startSigning();
    // Without the keypair, rows cannot be sealed, so nothing written now would be trusted later.
    // Logs are then never trimmed.
    else if (existsSync(this.#keypairFile)) {
      const { store, log } = this.#runtime;
      const anchors = this.#sealed();
      this.#anchors = anchors;
      this.#past = anchors.past;
      const parts = { store: { ...store, anchors }, headsAt: this.#headsAt, log };
      this.#retirement = retireAll(parts, this.#stopping.signal);
    }
  }

  async stop(): Promise<void> {
    this.#running?.pool.close();
    this.#stopping.abort();
    await this.#retirement;
    await this.#running?.anchoring.stop();
  }

  async #startSigning(): Promise<void> {
    const { store, plans, clock, log } = this.#runtime;
    const broker = this.#broker();
    const monotonicMs = () => clock.monotonicMs();
    const authority = await openAuthority(this.#keypairFile, await this.#mayCreateKeypair(), log);
    const anchors = this.#sealed();
    this.#anchors = anchors;
    this.#past = anchors.past;
    const pool = new RpcPool(this.#endpoints, monotonicMs);
    const ledger = new LedgerClient(pool, authority, monotonicMs);
    this.#embedded?.keepOf(ledger.authority);
    if (this.#embedded) await fundFromEmbeddedLedger(ledger);
    else void warnOfLowFunds(ledger, log);
    const anchoring = new Anchoring({
      ledger,
      store: { ...store, anchors },
      plans,
      clock,
      log,
      isShared: broker.transit !== undefined && broker.transit !== null,
      tell: (collectionId) => {
        broker.broadcast('anchoring.changed', { collectionId }).catch((error: unknown) => {
          log.debug({ err: error }, 'could not broadcast a change of an anchor');
        });
      },
      unsound: anchors.unsound,
      headsAt: this.#headsAt,
    });
    this.#running = { anchoring, ledger, pool };
    // Starting takes long in a store with many collections; writes need not wait for it.
    void anchoring.start();
  }

  /**
   * A configured file that is missing is a mistake, and so is a new keypair after anything was
   * anchored: another authority could not write the existing accounts.
   */
  async #mayCreateKeypair(): Promise<boolean> {
    const { config, store } = this.#runtime;
    if (config.solanaKeypair !== null || this.#embedded === null || existsSync(this.#keypairFile)) return false;
    for await (const rows of store.anchors.all()) if (rows.length > 0) return false;
    return true;
  }

  #sealed() {
    const { store, clock, log } = this.#runtime;
    return sealed(store.anchors, sealKeyOf(this.#keypairFile), () => clock.wallMs(), log);
  }

  #receiptOf(confirmed: ConfirmedAnchor | null): AnchorReceipt {
    if (!confirmed) return PENDING;
    const { signature } = confirmed;
    return { status: 'confirmed', signature, explorerUrl: this.#link('tx', signature) };
  }

  readonly #headsAt: AnchoringOptions['headsAt'] = (collection, cut) =>
    Promise.all(
      cut.map(({ seq }, index) =>
        seq === 0 ? EMPTY_HEAD : call(this.#broker(), 'shards.headAt', { shard: shardSpec(collection, index), seq }),
      ),
    );
}
