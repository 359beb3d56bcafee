/**
 * Outbox of one collection: writes its newest wanted root to the ledger, one transaction at a time.
 *
 * Even if several instances consider themselves in charge: at most one transaction of a collection
 * is in flight, roots on chain only move forward unless an operator decides otherwise, and nothing
 * is signed while the store has a contradiction of the collection. `turn` never waits; it returns
 * the time of the next call. It throws if the ledger or the store cannot be reached, and may be
 * called again at any time. See docs/internals/anchoring.md.
 */
import { itemAt } from '../../../lib/checked-access.ts';
import type { CollectionId } from '../../../lib/ids.ts';
import { LEDGER_LAG_MAX_MS } from '../../../lib/ledger/lag.ts';
import { collectionRoot, isSameAnchor } from '../../../lib/shard/collection-root.ts';
import { committedCut, cutContains, mergeCuts } from '../../../lib/shard/cut.ts';
import { type Cut, isSameState } from '../../../lib/shard/head.ts';
import { backoffMs } from '../../../lib/time/backoff.ts';
import {
  type AnchorHistoryItem,
  type AnchorRow,
  type ConfirmedAnchor,
  hasUnconfirmedCut,
  type InFlightTransaction,
} from '../../../store/anchors.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import type { AnchoringContext, OutboxStep } from '../context.ts';
import type { SignedTransaction } from '../ledger/ledger-client.ts';
import { NOT_DELETED, wasDeleted } from '../recovery/deletion.ts';
import { describeAccount, type Reconciliation, reconcile, unsoundHeadReason } from '../recovery/reconciliation.ts';
import { changeRow, logHalt } from './anchor-row.ts';

/** What to do next: wait, drop the outbox, or run another turn after `afterMs`. */
export type Turn = { next: 'idle' } | { next: 'done' } | { next: 'turn'; afterMs: number };

const IDLE: Turn = { next: 'idle' };
const DONE: Turn = { next: 'done' };
const AT_ONCE: Turn = { next: 'turn', afterMs: 0 };
const POLL = { minMs: 50, maxMs: 1_000 };
const RESEND_MS = 2_000;
/**
 * Nodes of one ledger never differ by this much, so a node this far below the transaction's last
 * valid height is on another ledger.
 */
const BEHIND_BLOCKS = 10_000n;
const LAG_POLL_MS = 500;
/**
 * Maximum distance in slots between the account that a decision is based on and the blockhash of
 * the transaction. The ledger accepts the transaction within 150 blocks after that, so no
 * transaction lands that was based on an outdated account, whichever endpoint showed it. 300 slots
 * are two minutes; endpoints of one ledger are seconds apart.
 */
const VIEW_MAX_SLOTS = 300n;

export class Outbox {
  readonly collectionId: CollectionId;
  readonly #context: AnchoringContext;
  /** Epoch at which row and account agreed. Only this outbox has changed the row since. */
  #soundEpoch: number | null = null;
  /** Slot of the account at that time; null once a transaction of this outbox has landed. */
  #soundSlot: bigint | null = null;
  /** Decision count for the next root if it carries out a decision; null if it does not. */
  #decisions: number | null = null;
  /** Transaction being tracked. `atMs` is when this instance last sent it; null if it has not. */
  #sent: { signature: string; atMs: number | null; polls: number } = { signature: '', atMs: null, polls: 0 };
  #signedAt: string | null = null;
  /** Since when the ledger shows less than it should. */
  #lag: { epoch: number; sinceMs: number } | null = null;

  constructor(context: AnchoringContext, collectionId: CollectionId) {
    this.#context = context;
    this.collectionId = collectionId;
  }

  async turn(mayGoOn = true): Promise<Turn> {
    const { store, isInCharge, waiters } = this.#context;
    if (!isInCharge(this.collectionId)) return DONE;
    const row = await store.anchors.get(this.collectionId);
    if (row === null) return DONE;
    waiters.settle(row);
    if (row.halted && !row.closing) return IDLE;
    if (row.inFlight) return this.#follow(row, row.inFlight);
    if (row.closing) return this.#close(row);
    if (!hasUnconfirmedCut(row)) return IDLE;
    const collection = await store.catalog.getCollection(this.collectionId);
    if (collection === null) {
      if (!(await wasDeleted(row, store))) return this.#halt(row, NOT_DELETED);
      await this.#change(row, { closing: true });
      return AT_ONCE;
    }
    const [contradiction] = await store.contradictions.list(this.collectionId);
    if (contradiction) return this.#halt(row, contradiction.reason);
    if (this.#soundEpoch === row.epoch) return this.#anchor(row, collection);
    this.#soundEpoch = null;
    const turn = await this.#reconcile(row, collection);
    // Anchors at once, while the account is fresh, but rereads the contradictions that shards may
    // have recorded meanwhile.
    return mayGoOn && this.#soundEpoch !== null ? this.turn(false) : turn;
  }

  async #halt(row: AnchorRow, reason: string): Promise<Turn> {
    const { clock, log } = this.#context;
    const halted = await this.#change(row, { halted: { reason, at: new Date(clock.wallMs()).toISOString() } });
    if (halted === null) return AT_ONCE;
    logHalt(log, this.collectionId, reason);
    this.#tell(halted);
    return IDLE;
  }

  async #reconcile(row: AnchorRow, collection: CollectionRow): Promise<Turn> {
    const { ledger, store, headsAt } = this.#context;
    const { account, slot } = await ledger.survey(this.collectionId, row);
    const logged = await committedCut(store.log, collection);
    const finding: Reconciliation =
      row.trusted === describeAccount(account)
        ? { outcome: 'sound' }
        : await reconcile(account, { ...row, logged, headsAt: (cut) => headsAt(collection, cut) });
    // The next turn comes after a pause, and sees contradictions recorded meanwhile.
    if (finding.outcome === 'retry') throw new Error('A shard does not know its head at the confirmed root yet.');
    if (finding.outcome === 'halt') {
      // A single response may come from a node that is faulty or behind.
      const mayPass = account.status === 'foreign' || finding.mayBeLag;
      if (mayPass && this.#mayStillCome(row)) return { next: 'turn', afterMs: LAG_POLL_MS };
      return this.#halt(row, finding.reason);
    }
    if (account.status === 'foreign') return this.#halt(row, account.reason);
    const created = account.status === 'found';
    const adopted = finding.outcome === 'adopt' ? finding.cut : null;
    const isKnown = row.created === created && (adopted === null || cutContains(row.wanted!, adopted));
    const sound = isKnown
      ? row
      : await this.#change(row, ({ wanted }) => ({ created, wanted: adopted ? mergeCuts(wanted!, adopted) : wanted }));
    this.#soundEpoch = sound?.epoch ?? null;
    this.#soundSlot = slot;
    const isDecision = row.trusted !== null || row.lapsed !== null || adopted !== null;
    this.#decisions = isDecision ? ((created && account.fields?.decisions) || 0) + 1 : null;
    this.#lag = null;
    return AT_ONCE;
  }

  async #anchor(row: AnchorRow, collection: CollectionRow): Promise<Turn> {
    const { ledger, clock, store } = this.#context;
    // Before the first anchor, records may be ahead of any root, so the first root covers the whole
    // log.
    const cut = mergeCuts(row.wanted!, row.confirmed?.cut ?? (await committedCut(store.log, collection)));
    const reason = unsoundHeadReason(cut) ?? (await this.#heldAgainstShards(cut, collection));
    if (reason !== null) return this.#halt(row, reason);
    this.#signedAt = new Date(clock.wallMs()).toISOString();
    const decisions = this.#decisions ?? row.confirmed?.decisions ?? 0;
    const signed = row.created
      ? await ledger.signUpdate(this.collectionId, { ...collectionRoot(cut), decisions })
      : await ledger.signCreate(this.collectionId);
    if (this.#soundSlot !== null && signed.slot > this.#soundSlot + VIEW_MAX_SLOTS) {
      this.#soundEpoch = null;
      throw new Error('The ledger showed an old state of the account.');
    }
    return this.#launch(
      row,
      { step: row.created ? 'update' : 'create', cut: row.created ? cut : null, decisions },
      signed,
    );
  }

  /**
   * Returns why the cut to sign contradicts the shards, as a sentence for the operator, or null if
   * it does not. Asks the shards each time, since recorded contradictions could be removed from the
   * store.
   */
  async #heldAgainstShards(cut: Cut, collection: CollectionRow): Promise<string | null> {
    const heads = await this.#context.headsAt(collection, cut);
    const shard = heads.findIndex((head, index) => head !== null && !isSameState(head, itemAt(cut, index)));
    if (shard >= 0) return `Shard ${shard} contradicts the root to be anchored.`;
    if (heads.includes(null)) throw new Error('A shard does not know its head at the root to be anchored yet.');
    return null;
  }

  async #close(row: AnchorRow): Promise<Turn> {
    const { ledger, log } = this.#context;
    const { status } = (await ledger.survey(this.collectionId, row)).account;
    if (status === 'found')
      return this.#launch(row, { step: 'close', cut: null, decisions: 0 }, await ledger.signClose(this.collectionId));
    if (row.created && this.#mayStillCome(row)) return { next: 'turn', afterMs: LAG_POLL_MS };
    if (status === 'foreign')
      log.warn(
        { address: row.address },
        'the ledger account of a deleted collection was not written by this service; it stays open',
      );
    return this.#forget(row);
  }

  async #forget({ revision }: AnchorRow): Promise<Turn> {
    const { store, waiters, tell } = this.#context;
    if (!(await store.anchors.remove(this.collectionId, revision))) return AT_ONCE;
    waiters.release([this.collectionId]);
    tell(this.collectionId);
    return DONE;
  }

  /** Makes a signed transaction durable, then sends it. */
  async #launch(
    row: AnchorRow,
    what: Pick<InFlightTransaction, 'step' | 'cut' | 'decisions'>,
    signed: SignedTransaction,
  ): Promise<Turn> {
    await this.#reach('signed');
    const { signature, wire } = signed;
    const inFlight = { ...what, signature, wire, lastValidBlockHeight: String(signed.lastValidBlockHeight) };
    const stored = await this.#change(row, { inFlight });
    if (stored === null) return AT_ONCE;
    await this.#reach('persisted');
    return this.#follow(stored, inFlight);
  }

  async #follow(row: AnchorRow, inFlight: InFlightTransaction): Promise<Turn> {
    const { ledger } = this.#context;
    const { signature, wire } = inFlight;
    if (this.#sent.signature !== signature) this.#sent = { signature, atMs: null, polls: 0 };
    const refusal = await this.#send(wire);
    const { slot, height, missing } = await ledger.finalizedBlock();
    // Asked after that, and only of a node that has reached the slot, so past the last valid height
    // 'unknown' means that the transaction is dead.
    const found = await ledger.status(signature, slot);
    if (found.status === 'processed') return this.#poll();
    if (found.status === 'confirmed') return this.#land(row, inFlight);
    if (found.status === 'unknown') {
      const lastValid = BigInt(inFlight.lastValidBlockHeight);
      const behind = missing === 0 && height + BEHIND_BLOCKS < lastValid;
      if (height <= lastValid && !behind) return this.#poll();
      if (behind && !row.trusted && !row.closing) {
        return this.#halt(row, 'This ledger is far behind the one that the last transaction was signed for.');
      }
    }
    // A failed update is not confirmed even if the account shows its root: another transaction
    // wrote that.
    const mayBeDone = found.status === 'unknown' || inFlight.step !== 'update';
    if (mayBeDone && (await this.#isCarriedOut(inFlight, slot))) return this.#land(row, inFlight);
    return this.#bury(
      row,
      found.status === 'failed' ? found.reason : (refusal ?? 'the ledger did not accept it in time'),
    );
  }

  async #send(wire: string): Promise<string | null> {
    const { ledger, clock } = this.#context;
    const { atMs } = this.#sent;
    if (atMs !== null && clock.monotonicMs() - atMs < RESEND_MS) return null;
    const refusal = await ledger.send(wire);
    this.#sent.atMs = clock.monotonicMs();
    await this.#reach('sent');
    return refusal;
  }

  #poll(): Turn {
    const afterMs = backoffMs(this.#sent.polls, POLL);
    this.#sent.polls += 1;
    return { next: 'turn', afterMs };
  }

  /** Returns true if the account shows the effect of a transaction without a known status. */
  async #isCarriedOut({ step, cut, decisions }: InFlightTransaction, atSlot: bigint): Promise<boolean> {
    const account = await this.#context.ledger.read(this.collectionId, atSlot);
    if (step === 'close') return account.status === 'absent';
    if (account.status !== 'found') return false;
    if (step === 'create') return true;
    return account.fields !== null && isSameAnchor(account.fields, { ...collectionRoot(cut!), decisions });
  }

  async #land(row: AnchorRow, { step, cut, decisions, signature }: InFlightTransaction): Promise<Turn> {
    await this.#reach('confirmed');
    this.#soundSlot = null;
    switch (step) {
      case 'create':
        await this.#change(row, { created: true, inFlight: null });
        return AT_ONCE;
      case 'update':
        // Sent before anchoring of the collection stopped, so the records may be ahead of its root
        // by now.
        if (!row.lapsed?.some((root) => isSameAnchor(root, { ...collectionRoot(cut!), decisions })))
          return this.#confirm(row, cut!, decisions, signature);
        await this.#change(row, { inFlight: null });
        return AT_ONCE;
      case 'close':
        return this.#forget(row);
    }
  }

  async #confirm(row: AnchorRow, cut: Cut, decisions: number, signature: string): Promise<Turn> {
    const { clock, counts } = this.#context;
    const root = collectionRoot(cut);
    const history = { ...root, decisions, signature, confirmedAt: new Date(clock.wallMs()).toISOString() };
    const confirmed: ConfirmedAnchor = { cut, ...history };
    this.#decisions = null;
    const stored = await this.#change(
      row,
      ({ wanted, wantedAt }) => ({
        created: true,
        inFlight: null,
        confirmed,
        trusted: null,
        lapsed: null,
        wanted: wanted ? mergeCuts(wanted, cut) : cut,
        // Whatever is still wanted came after the transaction was signed.
        wantedAt: this.#signedAt ?? wantedAt,
      }),
      history,
    );
    if (stored === null) return AT_ONCE;
    counts.confirmed += 1;
    this.#tell(stored);
    return stored.closing || hasUnconfirmedCut(stored) ? AT_ONCE : IDLE;
  }

  /** Gives up a dead transaction. The next one is signed after the account is checked again. */
  async #bury(row: AnchorRow, reason: string): Promise<Turn> {
    const { log, counts } = this.#context;
    const { collectionId } = this;
    if ((await this.#change(row, { inFlight: null })) === null) return AT_ONCE;
    this.#soundEpoch = null;
    counts.failures += 1;
    log.warn({ collectionId, step: row.inFlight?.step, reason }, 'an anchoring transaction failed; signing a new one');
    return { next: 'turn', afterMs: POLL.maxMs };
  }

  /** Returns true for a while after the ledger first shows too little: it may only be late. */
  #mayStillCome({ epoch }: AnchorRow): boolean {
    const monotonicMs = this.#context.clock.monotonicMs();
    if (this.#lag?.epoch !== epoch) this.#lag = { epoch, sinceMs: monotonicMs };
    return monotonicMs - this.#lag.sinceMs < LEDGER_LAG_MAX_MS;
  }

  /**
   * Changes the row. Returns the stored row, or null if another change came first; everything must
   * then be read again.
   */
  async #change(
    row: AnchorRow,
    change: Partial<AnchorRow> | ((newest: AnchorRow) => Partial<AnchorRow>),
    history?: AnchorHistoryItem,
  ): Promise<AnchorRow | null> {
    const fields = typeof change === 'function' ? change : () => change;
    const stored = await changeRow(this.#context.store.anchors, row, fields, history);
    this.#soundEpoch = stored !== null && this.#soundEpoch === row.epoch ? stored.epoch : null;
    return stored;
  }

  /** Resolves the waiters that a changed row satisfies, here and on other instances. */
  #tell(row: AnchorRow): void {
    this.#context.waiters.settle(row);
    this.#context.tell(this.collectionId);
  }

  async #reach(step: OutboxStep): Promise<void> {
    await this.#context.onStep?.(step, this.collectionId);
  }
}
