import { isBuiltInPlan, type PlanName, type Plans, readPlanLimits } from '../../lib/plans.ts';
import type { StoreKeys } from '../../lib/secret/keyring.ts';
import { parseShardKey, shardKey } from '../../lib/shard/key.ts';
import type { AccountRow, CollectionRow } from '../../store/catalog.ts';
import type { PlanRow } from '../../store/plans.ts';
import { isPossibleRow } from '../../store/possible-rows.ts';
import { auditSeals, type TrustPolicy } from '../../store/resealer.ts';
import { RowSeals, type StoreToReseal } from '../../store/resealing.ts';
import {
  compareWithLedger,
  compareWithOwnLog,
  describeComparison,
  type LedgerComparison,
  type Witness,
} from './ledger-comparison.ts';
import type { Kind } from './report.ts';

export interface LostSecretOptions {
  store: StoreToReseal;
  keys: StoreKeys;
  plans: Plans;
  /** The witness to compare collections with, or the reason why there is none. */
  witness: Witness | string;
  /** Whether the service anchors roots at all. */
  isLedgerOn: boolean;
  keepKeys: boolean;
}

/** A collection as stored in the catalog. */
interface Found {
  collection: CollectionRow;
  /** Whether its row or a part of its log lacks a seal of a given secret. */
  isUnsealed: boolean;
  /** Why an entry of its log cannot be sealed, as a sentence. */
  damage: string | null;
}

/** Result of comparing one collection with the ledger. */
export interface CollectionVerdict {
  collection: CollectionRow;
  found: LedgerComparison;
  /** Why anchoring must halt until an operator decides; null when it may continue. */
  reason: string | null;
}

/**
 * A store whose secret is lost: which of its rows to trust, and how each collection compares with
 * the ledger.
 */
export class LostSecret {
  readonly #options: LostSecretOptions;
  readonly #plans = new Map<PlanName, PlanRow>();
  readonly #accounts = new Map<string, AccountRow>();
  readonly #found = new Map<string, Found>();

  private constructor(options: LostSecretOptions) {
    this.#options = options;
  }

  /** Reads every row. Throws StoreError. */
  static async read(options: LostSecretOptions): Promise<LostSecret> {
    const lost = new LostSecret(options);
    await lost.#readCatalog();
    await lost.#readLogs();
    return lost;
  }

  /**
   * Trusts live accounts and collections, plans, aliases and logs, and API keys and audit links if
   * the operator asked for it. Never trusts a row that marks a collection as dropped or an account
   * as being deleted: a forged one would get data removed.
   */
  get policy(): TrustPolicy {
    const { keepKeys } = this.#options;
    return {
      row: (stored) =>
        ((stored.kind === 'account' || stored.kind === 'collection') && stored.state === 'live') ||
        stored.kind === 'plan' ||
        stored.kind === 'alias' ||
        ((stored.kind === 'API key' || stored.kind === 'audit link') && keepKeys),
      log: (collectionId) => this.#found.has(collectionId),
    };
  }

  /** Kinds that are always refused; refusing them is not a finding. */
  get neverSealed(): Kind[] {
    const always: Kind[] = ['checkpoint', 'audit entry'];
    return this.#options.keepKeys ? always : [...always, 'API key', 'audit link'];
  }

  /** Plans in the store, for the operator to check. */
  get plans(): PlanRow[] {
    return [...this.#plans.values()];
  }

  /** Accounts for the operator to check: the ledger does not cover them. */
  get accounts(): AccountRow[] {
    return [...this.#accounts.values()];
  }

  /** Collections that have anchors but are not in the catalog. */
  async *missing(): AsyncIterable<string> {
    for await (const rows of this.#options.store.anchors.all())
      for (const { collectionId, closing } of rows) if (!closing && !this.#found.has(collectionId)) yield collectionId;
  }

  /** Compares each collection in turn. Throws StoreError, or LedgerUnreachableError. */
  async *verdicts(): AsyncIterable<CollectionVerdict> {
    const { store, witness } = this.#options;
    for (const { collection, isUnsealed, damage } of this.#found.values()) {
      const content =
        typeof witness === 'string'
          ? await compareWithOwnLog(store, collection, witness)
          : await compareWithLedger(store, collection, witness);
      const found: LedgerComparison = damage === null ? content : { state: 'contradicts', why: damage };
      // A seal of a known secret needs no other witness. A contradiction halts anchoring on every
      // plan, because the plan may be forged, too.
      const isUnvouched = found.state !== 'held' && isUnsealed && (await this.#isAnchored(collection));
      const reason = found.state === 'contradicts' || isUnvouched ? reasonOf(found) : null;
      yield { collection, found, reason };
    }
  }

  /** Halts anchoring of a collection. Call it before any of the collection is sealed. */
  async contradict({ collection, reason }: CollectionVerdict): Promise<void> {
    const { log, contradictions } = this.#options.store;
    if (reason === null) return;
    const shard = shardKey(collection.id, 0);
    const seq = (await log.head(shard))?.seq ?? 0;
    await contradictions.record(shard, { seq, reason, at: new Date().toISOString() });
  }

  async #readCatalog(): Promise<void> {
    const { store, keys } = this.#options;
    const seals = new RowSeals(keys);
    for await (const rows of store.seals.rows()) {
      for (const stored of rows) {
        if (!isPossibleRow(stored)) continue;
        const { seal: _, ...row } = stored.row;
        if (stored.kind === 'plan') this.#plans.set(stored.row.name, row as PlanRow);
        if (stored.kind === 'account' && stored.state === 'live') this.#accounts.set(stored.row.id, row as AccountRow);
        if (stored.kind !== 'collection' || stored.state !== 'live') continue;
        const isUnsealed = seals.state(stored) === 'none';
        this.#found.set(stored.row.id, { collection: row as CollectionRow, isUnsealed, damage: null });
      }
    }
  }

  async #readLogs(): Promise<void> {
    const { store, keys } = this.#options;
    for await (const finding of auditSeals(store.seals, keys, this.policy)) {
      if (finding.what === 'row') continue;
      const found = this.#found.get(parseShardKey(finding.shard).collectionId);
      if (found === undefined) continue;
      found.isUnsealed ||= finding.found.none > 0;
      if (finding.isRefused) found.damage ??= `The log of shard ${finding.shard} is damaged.`;
    }
  }

  async #isAnchored({ id, accountId }: CollectionRow): Promise<boolean> {
    const { store, isLedgerOn } = this.#options;
    if (!isLedgerOn) return false;
    const account = this.#accounts.get(accountId);
    // Nothing vouches for the plan, but an outbox row shows that the collection was anchored.
    return (account !== undefined && this.#hasAnchoring(account.plan)) || (await store.anchors.get(id)) !== null;
  }

  /** A plan of which nothing is known counts as one with anchoring. */
  #hasAnchoring(plan: PlanName): boolean {
    const stored = this.#plans.get(plan);
    if (stored !== undefined) return readPlanLimits(stored.limits)?.anchoring ?? true;
    return isBuiltInPlan(plan) ? this.#options.plans[plan].anchoring : true;
  }
}

const reasonOf = (found: LedgerComparison): string =>
  `The store was sealed anew after its secret was lost, and this collection was found so: ${describeComparison(found)}`;
