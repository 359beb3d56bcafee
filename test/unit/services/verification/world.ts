import type { AnchorReceipt, OnChain } from '../../../../contracts/actions/anchoring.ts';
import { type AnchoredRoot, collectionRoot } from '../../../../lib/shard/collection-root.ts';
import type { Cut, ShardHead } from '../../../../lib/shard/head.ts';
import type { RecomputedShard } from '../../../../lib/shard/recomputed.ts';
import type { ShardSpec } from '../../../../lib/shard/spec.ts';
import { SYSTEM_CLOCK } from '../../../../lib/time/clock.ts';
import verificationService from '../../../../services/verification/verification.service.ts';
import { type AnchorRow, type ConfirmedAnchor, emptyAnchorRow } from '../../../../store/anchors.ts';
import type { Contradiction } from '../../../../store/contradictions.ts';
import type { Store } from '../../../../store/port.ts';
import { newCollection } from '../../../contract/store-rows.ts';
import { type FakeActions, startWorld, type World } from '../../../support/world.ts';

const ROW = newCollection({ accountId: 'account', name: 'demo', dimensions: 2, shards: 2 });
export const PLACE = { address: 'Address', explorerUrl: 'https://explorer.test/address/Address' };

/**
 * The head after `seq` commits. With `content` other than `seq`, it is a state that no log
 * recorded.
 */
export function head(seq: number, content = seq): ShardHead {
  if (seq === 0) return { seq, version: 0, type: 'empty', hash: new Uint8Array(32), count: 0 };
  return { seq, version: seq, type: 'inner', hash: new Uint8Array(32).fill(content), count: seq };
}
export const cut = (...seqs: number[]): Cut => seqs.map((seq) => head(seq));

export const anchored = (of: Cut): AnchoredRoot => ({ ...collectionRoot(of), decisions: 1 });
export function confirmed(of: Cut): ConfirmedAnchor {
  return { cut: of, ...anchored(of), signature: 'Sig', confirmedAt: '2026-11-21T00:00:00.000Z' };
}
export function row(fields: Partial<AnchorRow> = {}): AnchorRow {
  return { ...emptyAnchorRow(ROW.id, PLACE.address, 1), created: true, ...fields };
}
export const found = (of: Cut): OnChain => ({ status: 'found', ...anchored(of), ...PLACE });
export const elsewhere = (status: 'absent' | 'foreign' | 'unreachable'): OnChain => ({
  status,
  reason: 'A reason.',
  ...PLACE,
});

const indexIn = ({ shard }: Record<string, never>) => (shard as ShardSpec).index;

/** Shards and a ledger whose every response the test sets. */
export class ScriptedWorld {
  /**
   * Seqs that the shards have committed, and the state of a shard's stored bytes if it differs from
   * the recorded one.
   */
  committed = [3, 2];
  tampered: (number | null)[] = [null, null];
  altered: RecomputedShard['altered'][] = [null, null];
  anchoring = true;
  contradictions: Contradiction[] = [];
  /** The contradiction that the shard found when it opened. */
  remembered: string | null = null;
  row: AnchorRow | null = null;
  onChain: OnChain = elsewhere('absent');
  onAwaited: (wanted: Cut) => AnchorReceipt['status'] = (wanted) => {
    this.row = row({ confirmed: confirmed(wanted) });
    this.onChain = found(wanted);
    return 'confirmed';
  };
  /** Cuts whose anchors were awaited, and cuts that were submitted. */
  readonly awaited: Cut[] = [];
  readonly submitted: Cut[] = [];
  readonly open = new Map<string, number>();
  /** Sessions that were kept alive, once per call. */
  readonly kept: string[] = [];
  scans = 0;
  duringScan: (index: number) => Promise<void> = async () => undefined;
  /** Total pause between reads of the ledger, on a clock that advances by that much. */
  pausedMs = 0;
  onPause = (): void => undefined;
  #world: World | null = null;

  async start(environment: Record<string, string> = {}): Promise<void> {
    const pause = async (ms: number) => {
      this.pausedMs += ms;
      this.onPause();
    };
    this.#world = await startWorld({
      environment,
      store: {
        contradictions: { list: async () => this.contradictions },
        plans: { find: async () => null },
      } as unknown as Store,
      clock: { ...SYSTEM_CLOCK, wallMs: () => SYSTEM_CLOCK.wallMs() + this.pausedMs },
      services: [(runtime) => verificationService(runtime, pause)],
      fakes: {
        'collections.resolve': () => ROW,
        'keys.plan': () => (this.anchoring ? 'enterprise' : 'free'),
        ...this.#anchoringActions(),
        ...this.#shardsActions(),
      },
    });
  }

  #anchoringActions(): FakeActions {
    return {
      'anchoring.submit': ({ cut }) => {
        this.submitted.push(cut);
        return { status: 'pending', signature: null, explorerUrl: null };
      },
      'anchoring.confirmation': ({ cut }) => {
        this.awaited.push(cut);
        return { status: this.onAwaited(cut), signature: null, explorerUrl: null };
      },
      'anchoring.state': () => this.row,
      'anchoring.onChain': () => this.onChain,
    };
  }

  #shardsActions(): FakeActions {
    return {
      'shards.head': (params) => head(this.committed[indexIn(params)]),
      'shards.recompute': async (params) => {
        const index = indexIn(params);
        if (index === 0) this.scans += 1;
        const seq = this.committed[index];
        await this.duringScan(index);
        const session = `${index} ${this.scans}`;
        this.open.set(session, index);
        return this.#recomputed(session, seq);
      },
      'shards.extend': ({ session, seq }) => this.#recomputed(session, seq),
      'shards.keep': ({ session }) => {
        this.kept.push(session);
        return null;
      },
      'shards.release': ({ session }) => {
        this.open.delete(session);
        return null;
      },
    };
  }

  #recomputed(session: string, seq: number): RecomputedShard {
    const index = this.open.get(session)!;
    const bad = this.tampered[index];
    const differences = bad === null ? [] : [{ id: `record of ${index}`, what: 'values' }];
    const altered = this.altered[index];
    const contradiction = this.remembered;
    return { session, head: head(seq, bad ?? seq), recorded: head(seq), differences, altered, contradiction };
  }

  verify() {
    return this.#world!.call('verification.verify', { accountId: 'account', name: 'demo' });
  }

  stop(): Promise<void> {
    return this.#world!.broker.stop();
  }
}
