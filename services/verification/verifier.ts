/**
 * Verifies collections against the ledger.
 *
 * A scan reads the stored bytes. The verifier then waits for the anchor of the cut that the *log
 * recorded* at the same seqs, and compares both at exactly the cut that the ledger holds. It only
 * reads: it does not anchor that cut or write anything else. Overlapping verifications share a
 * scan. A verification can join until the shards are read; after that the log is applied up to the
 * shards' newest heads, so the scan covers every write acknowledged before the join.
 */

import type { OnChain } from '../../contracts/actions/anchoring.ts';
import { type Caller, call } from '../../contracts/actions/call.ts';
import { planOf } from '../../contracts/actions/principal.ts';
import type { ShardRecomputing } from '../../contracts/actions/shards.ts';
import type { NamedDifference, VerifyResult } from '../../contracts/actions/verification.ts';
import type { CollectionId } from '../../lib/ids.ts';
import { LEDGER_LAG_MAX_MS } from '../../lib/ledger/lag.ts';
import { parseStoredId } from '../../lib/records/namespace.ts';
import type { RecordDifference } from '../../lib/shard/recomputed.ts';
import { shardSpecs } from '../../lib/shard/spec.ts';
import type { Runtime } from '../../process/runtime.ts';
import type { AnchorRow } from '../../store/anchors.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import { CollectionScan } from './collection-scan.ts';
import { ScanProgress } from './scan-progress.ts';
import { type AnchorRecord, cutOnChain, judge, localContradiction, type Verdict } from './verdict.ts';

const REREAD_MS = 200;
/** Reads of the row and the account until they match, or a lagging RPC node has caught up. */
const READS_MAX = 1 + Math.ceil(LEDGER_LAG_MAX_MS / REREAD_MS);
const WAIT_GRACE_MS = 2_000;

/** A verification under way. */
export interface VerifierRun {
  progress: ScanProgress;
  /** Rejects with errors of the shards. Failures of the ledger are a verdict, not an error. */
  result: Promise<VerifyResult>;
}

interface LedgerView {
  record: AnchorRecord;
  onChain: OnChain;
}

export class Verifier {
  readonly #caller: Caller;
  readonly #runtime: Runtime;
  readonly #delay: (ms: number) => Promise<unknown>;
  readonly #joinable = new Map<string, VerifierRun>();
  /** Progress of verifications under way, by run. */
  readonly #progress = new Map<string, ScanProgress>();

  constructor(caller: Caller, runtime: Runtime, delay: (ms: number) => Promise<unknown>) {
    this.#caller = caller;
    this.#runtime = runtime;
    this.#delay = delay;
  }

  /** Starts a verification, or joins one that is still reading. */
  begin(row: CollectionRow): VerifierRun {
    const joined = this.#joinable.get(row.id);
    if (joined) return joined;
    const progress = new ScanProgress(row.shards);
    this.#progress.set(progress.run, progress);
    const result = this.#verify(row, progress).finally(() => {
      this.#progress.delete(progress.run);
      this.#close(row.id, run);
    });
    const run = { progress, result };
    this.#joinable.set(row.id, run);
    return run;
  }

  /** Handles a shard's progress event. */
  recomputing({ run, shard, records }: ShardRecomputing): void {
    this.#progress.get(run)?.reached(shard, records);
  }

  #close(id: string, run?: VerifierRun): void {
    if (run === undefined || this.#joinable.get(id) === run) this.#joinable.delete(id);
  }

  async #verify(row: CollectionRow, progress: ScanProgress): Promise<VerifyResult> {
    const scan = await CollectionScan.begin(this.#caller, row, progress);
    try {
      this.#close(row.id);
      await scan.extend(await this.#heads(row));
      // Read after the scan, which may have taken minutes.
      const anchored = await this.#runtime.plans.isAnchored(await planOf(this.#caller, row.accountId));
      return await (anchored ? this.#againstLedger(row, scan) : this.#unanchored(row.id, scan));
    } finally {
      await scan.release();
    }
  }

  #heads(row: CollectionRow) {
    return Promise.all(shardSpecs(row).map((shard) => call(this.#caller, 'shards.head', { shard })));
  }

  async #unanchored(collectionId: CollectionId, scan: CollectionScan): Promise<VerifyResult> {
    const who = this.#runtime.config.ledger === 'on' ? 'The plan' : 'This service';
    const reason = `${who} does not anchor roots on the ledger, so there is nothing to compare with.`;
    const verdict = localContradiction(scan, await this.#anchorRecord(collectionId)) ?? {
      state: 'not_anchored',
      reason,
    };
    return this.#result(scan, verdict, null);
  }

  async #againstLedger(collection: CollectionRow, scan: CollectionScan): Promise<VerifyResult> {
    const collectionId = collection.id;
    const record = await this.#anchorRecord(collectionId);
    if (localContradiction(scan, record) === null) await this.#awaitAnchor(collectionId, scan);
    const view = await this.#ledger(collectionId, scan);
    const cut = cutOnChain(view.onChain, view.record.row);
    if (cut !== null && !scan.isPast(cut)) await scan.extend(cut);
    return this.#result(scan, judge(scan, view.record, view.onChain, cut), view.onChain);
  }

  async #awaitAnchor(collectionId: CollectionId, scan: CollectionScan): Promise<void> {
    const waitMs = this.#runtime.config.anchorWaitMs;
    const params = { collectionId, cut: scan.recorded, waitMs };
    const options = { timeout: waitMs + WAIT_GRACE_MS };
    // A slow or unreachable ledger shows when it is read afterwards.
    await call(this.#caller, 'anchoring.confirmation', params, options).catch(() => undefined);
  }

  /** Reads the account on the ledger and the row that matches it. */
  async #ledger(collectionId: CollectionId, scan: CollectionScan): Promise<LedgerView> {
    for (let reads = 1; ; reads++) {
      const onChain = await call(this.#caller, 'anchoring.onChain', { collectionId });
      const record = await this.#anchorRecord(collectionId);
      const isKnown = onChain.status !== 'found' || cutOnChain(onChain, record.row) !== null;
      const isContradicted = localContradiction(scan, record) !== null;
      const isSettled = isContradicted || (isKnown && !mayBeBehind(onChain, record.row));
      if (isSettled || reads === READS_MAX) return { record, onChain };
      await this.#delay(REREAD_MS);
    }
  }

  async #anchorRecord(collectionId: CollectionId): Promise<AnchorRecord> {
    const row = await call(this.#caller, 'anchoring.state', { collectionId });
    return { row, contradictions: await this.#runtime.store.contradictions.list(collectionId) };
  }

  #result(scan: CollectionScan, { state, reason }: Verdict, onChain: OnChain | null): VerifyResult {
    const { merkleRoot, version, vectorCount } = scan.computed;
    const found = onChain?.status === 'found' ? onChain : null;
    const { differences } = scan;
    return {
      verified: state === 'match',
      onChainRoot: found?.merkleRoot ?? null,
      computedRoot: merkleRoot,
      match: found?.merkleRoot === merkleRoot,
      vectorCount,
      ledgerExplorerUrl: onChain?.explorerUrl ?? null,
      state,
      version,
      anchoredVersion: found?.version ?? null,
      ledgerAddress: onChain?.address ?? null,
      checkedAt: new Date(this.#runtime.clock.wallMs()).toISOString(),
      ...(reason === null ? {} : { reason }),
      ...(differences.length === 0 ? {} : { differences: differences.map(withNamespace) }),
    };
  }
}

/** Adds the id and namespace that clients use for the record. */
function withNamespace({ id: stored, what }: RecordDifference): NamedDifference {
  const { id, namespace } = parseStoredId(stored) ?? { id: stored, namespace: '' };
  return { id, ...(namespace !== '' && { namespace }), what };
}

/** Whether the RPC node that answered may lag behind the one that confirmed the root. */
function mayBeBehind(onChain: OnChain, row: AnchorRow | null): boolean {
  if (!row?.confirmed || onChain.status === 'unreachable' || onChain.status === 'foreign') return false;
  return onChain.status !== 'found' || onChain.version < row.confirmed.version;
}
