import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Context, ServiceBroker, ServiceSchema } from 'moleculer';
import type { AnchorReceipt, OnChain } from '../../contracts/actions/anchoring.ts';
import { type Actions, call } from '../../contracts/actions/call.ts';
import type { KeysChanged } from '../../contracts/actions/keys.ts';
import { LEDGER_PROGRAM } from '../../lib/ledger/program.ts';
import { committedCut } from '../../lib/shard/cut.ts';
import { EMPTY_HEAD, isInvalidHead } from '../../lib/shard/head.ts';
import { shardSpec, shardSpecs } from '../../lib/shard/spec.ts';
import { checkedActions } from '../../mixins/checked-actions.ts';
import { timedAction } from '../../mixins/timed-action.ts';
import type { Runtime } from '../../process/runtime.ts';
import type { ConfirmedAnchor } from '../../store/anchors.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import type { Store } from '../../store/port.ts';
import { Anchoring } from './anchoring.ts';
import type { AnchoringOptions } from './context.ts';
import { openAuthority } from './ledger/authority.ts';
import { explorerLinks } from './ledger/explorer.ts';
import { fundFromEmbeddedLedger, warnOfLowFunds } from './ledger/funds.ts';
import { LedgerClient } from './ledger/ledger-client.ts';
import { LedgerUnreachableError, type RpcEndpoints, RpcPool } from './ledger/rpc-pool.ts';
import { closeRow } from './outbox/decisions.ts';
import { sealed, sealKeyOf } from './outbox/row-seal.ts';
import { unsoundHeadReason } from './recovery/reconciliation.ts';
import { retireAll } from './recovery/retire-all.ts';

type Params<A extends keyof Actions> = Context<Actions[A]['params']>;
type Result<A extends keyof Actions> = Promise<Actions[A]['result']>;

const OF_COLLECTION = { collectionId: 'string' } as const;
const CHECKS = {
  submit: { ...OF_COLLECTION, cut: 'array', waitMs: 'number' },
  confirmation: { ...OF_COLLECTION, cut: 'array', waitMs: 'number' },
  explorerUrl: { signature: 'string' },
  history: { ...OF_COLLECTION, limit: 'number', beforeVersion: { type: 'number', nullable: true } },
  halt: { ...OF_COLLECTION, reason: 'string' },
  info: {},
  stats: {},
} as const;

/** The part of the embedded ledger that anchoring needs. */
interface EmbeddedLedger {
  readonly url: string;
  /** Keeps the transactions that this address pays for, however many others there are. */
  keepOf(payer: string): void;
}

const KEYPAIR_FILE = 'ledger-keypair.json';
const NO_ANCHOR: AnchorReceipt = { status: 'none', signature: null, explorerUrl: null };
const PENDING: AnchorReceipt = { status: 'pending', signature: null, explorerUrl: null };
const NO_STATS = { pending: 0, oldestPendingSeconds: 0, confirmed: 0, failures: 0, halted: 0 };

/**
 * Service that writes roots to the ledger. `embedded` is the embedded ledger; null if the
 * configuration gives RPC URLs or turns the ledger off. `started` throws ConfigError if there is no
 * keypair to sign with.
 */
export default function anchoringService(
  { config, store, clock, log }: Runtime,
  embedded: EmbeddedLedger | null,
): ServiceSchema {
  const enabled = config.ledger === 'on';
  const endpoints: RpcEndpoints = {
    embedded: embedded !== null,
    urls: () => (embedded ? [embedded.url] : (config.solanaRpcUrls ?? [])),
  };
  const monotonicMs = () => clock.monotonicMs();
  const link = explorerLinks(config, embedded !== null, () => endpoints.urls()[0] ?? null);
  let nodeId = '';
  let running: { anchoring: Anchoring; ledger: LedgerClient; pool: RpcPool } | null = null;
  let retirement: Promise<void> | null = null;
  const stopping = new AbortController();
  let anchors = store.anchors;
  const keypairFile = config.solanaKeypair ?? join(config.dataDir, KEYPAIR_FILE);

  async function onChain(ledger: LedgerClient, collectionId: string): Promise<OnChain> {
    const address = await ledger.address(collectionId);
    const where = { address, explorerUrl: link('address', address) };
    const believed = await anchors.get(collectionId);
    try {
      const { account } = await ledger.survey(collectionId, believed);
      if (account.status === 'absent') return { status: 'absent', reason: 'The account does not exist.', ...where };
      if (account.status === 'foreign') return { ...account, ...where };
      if (account.fields === null) return { status: 'absent', reason: 'The account has no root yet.', ...where };
      return { status: 'found', ...account.fields, ...where };
    } catch (error) {
      const reason = error instanceof LedgerUnreachableError ? error.message : 'The ledger refused to answer.';
      return { status: 'unreachable', reason, ...where };
    }
  }

  function receiptOf(confirmed: ConfirmedAnchor | null): AnchorReceipt {
    if (!confirmed) return PENDING;
    const { signature } = confirmed;
    return { status: 'confirmed', signature, explorerUrl: link('tx', signature) };
  }

  let broker: ServiceBroker;
  const headsAt: AnchoringOptions['headsAt'] = (collection, cut) =>
    Promise.all(
      cut.map(({ seq }, index) =>
        seq === 0 ? EMPTY_HEAD : call(broker, 'shards.headAt', { shard: shardSpec(collection, index), seq }),
      ),
    );

  return {
    name: 'anchoring',

    created() {
      broker = this.broker;
    },

    actions: checkedActions(OF_COLLECTION, CHECKS, {
      // The wait is limited by `waitMs`; the caller sets its own timeout.
      submit: timedAction(0, async ({ params }: Params<'anchoring.submit'>): Result<'anchoring.submit'> => {
        if (!running) return NO_ANCHOR;
        return receiptOf(await running.anchoring.submit(params.collectionId, params.cut, params.waitMs));
      }),

      confirmation: timedAction(
        0,
        async ({ params }: Params<'anchoring.confirmation'>): Result<'anchoring.confirmation'> => {
          if (!running) return NO_ANCHOR;
          return receiptOf(await running.anchoring.confirmation(params.collectionId, params.cut, params.waitMs));
        },
      ),

      state: ({ params }: Params<'anchoring.state'>): Result<'anchoring.state'> => anchors.get(params.collectionId),

      async address({ params }: Params<'anchoring.address'>): Result<'anchoring.address'> {
        if (!running) return null;
        const address = await running.ledger.address(params.collectionId);
        return { address, explorerUrl: link('address', address) };
      },

      async onChain({ params }: Params<'anchoring.onChain'>): Result<'anchoring.onChain'> {
        if (running) return onChain(running.ledger, params.collectionId);
        return { status: 'unreachable', reason: 'Anchoring is turned off.', address: '', explorerUrl: null };
      },

      explorerUrl: async ({ params }: Params<'anchoring.explorerUrl'>): Result<'anchoring.explorerUrl'> =>
        link('tx', params.signature),

      async history({ params }: Params<'anchoring.history'>): Result<'anchoring.history'> {
        const items = await anchors.history(params.collectionId, params.limit, params.beforeVersion);
        return items.map((item) => ({ ...item, explorerUrl: link('tx', item.signature) }));
      },

      async halt({ params }: Params<'anchoring.halt'>): Result<'anchoring.halt'> {
        await running?.anchoring.halt(params.collectionId, params.reason);
        return null;
      },

      async resume({ params }: Params<'anchoring.resume'>): Result<'anchoring.resume'> {
        const { collectionId } = params;
        const shown = await running?.anchoring.shown(collectionId);
        const collection = await store.catalog.getCollection(collectionId);
        // Comes first: a shard that opens again must not find the same contradiction.
        if (collection && (await hasContradiction(store, collection, headsAt)))
          for (const shard of shardSpecs(collection)) await call(broker, 'shards.resume', { shard });
        if (running) await running.anchoring.resume(collectionId, shown!);
        else await store.contradictions.clear(collectionId);
        return null;
      },

      async close({ params }: Params<'anchoring.close'>): Result<'anchoring.close'> {
        if (running) await running.anchoring.close(params.collectionId);
        // The deletion must be known when the ledger is turned on again.
        else if (existsSync(keypairFile)) await closeRow(anchors, params.collectionId);
        return null;
      },

      info: async (): Result<'anchoring.info'> => ({
        enabled,
        program: LEDGER_PROGRAM,
        authority: running?.ledger.authority ?? null,
        cluster: config.solanaCluster,
        rpc: endpoints.urls().map((url) => new URL(url).origin),
        isEmbedded: embedded !== null,
      }),

      stats: async (): Result<'anchoring.stats'> => (await running?.anchoring.stats()) ?? NO_STATS,
    }),

    events: {
      'anchoring.changed': ({ params, nodeID }: Context<{ collectionId: string }>): void => {
        if (nodeID !== nodeId) running?.anchoring.rowChanged(params.collectionId);
      },

      // Anchors the account's collections without making the client that changed the plan wait.
      'keys.changed': ({ params: { accountId, what } }: Context<KeysChanged>): void => {
        if (what !== 'plan') return;
        running?.anchoring.takeUpAccount(accountId).catch((error: unknown) => {
          log.warn({ err: error }, "could not catch up on an account's collections yet");
        });
      },
    },

    async started() {
      const seal = () => sealed(store.anchors, sealKeyOf(keypairFile), () => clock.wallMs(), log);
      if (!enabled) {
        // Without the keypair, rows cannot be sealed, so nothing written now would be trusted
        // later. Logs are then never trimmed.
        if (!existsSync(keypairFile)) return;
        anchors = seal();
        retirement = retireAll({ store: { ...store, anchors }, headsAt, log }, stopping.signal);
        return;
      }
      nodeId = this.broker.nodeID;
      // A configured file that is missing is a mistake: another authority could not write the
      // existing accounts.
      const mayCreate =
        config.solanaKeypair === null && endpoints.embedded && !existsSync(keypairFile) && !(await hasAnchors(store));
      const authority = await openAuthority(keypairFile, mayCreate, log);
      const withSeals = seal();
      anchors = withSeals;
      const pool = new RpcPool(endpoints, monotonicMs);
      const ledger = new LedgerClient(pool, authority, monotonicMs);
      embedded?.keepOf(ledger.authority);
      if (endpoints.embedded) await fundFromEmbeddedLedger(ledger);
      else void warnOfLowFunds(ledger, log);
      const { plans } = config;
      const anchoring = new Anchoring({
        ledger,
        store: { ...store, anchors },
        plans,
        clock,
        log,
        isShared: this.broker.transit !== undefined && this.broker.transit !== null,
        tell: (collectionId) => {
          this.broker.broadcast('anchoring.changed', { collectionId }).catch((error: unknown) => {
            log.debug({ err: error }, 'could not broadcast a change of an anchor');
          });
        },
        unsound: withSeals.unsound,
        headsAt,
      });
      running = { anchoring, ledger, pool };
      // Starting takes long in a store with many collections; writes need not wait for it.
      void anchoring.start();
    },

    async stopped() {
      running?.pool.close();
      stopping.abort();
      await retirement;
      await running?.anchoring.stop();
    },
  };
}

/** Returns true if the shards' data contradicts what was recorded of it. */
async function hasContradiction(
  { contradictions, log }: Store,
  collection: CollectionRow,
  headsAt: AnchoringOptions['headsAt'],
): Promise<boolean> {
  if ((await contradictions.list(collection.id)).length > 0) return true;
  const cut = await committedCut(log, collection);
  return (
    unsoundHeadReason(cut) !== null ||
    (await headsAt(collection, cut)).some((head) => head !== null && isInvalidHead(head))
  );
}

/** Returns true if anything was ever anchored. A new keypair could not write those accounts. */
async function hasAnchors(store: Store): Promise<boolean> {
  for await (const rows of store.anchors.all()) if (rows.length > 0) return true;
  return false;
}
