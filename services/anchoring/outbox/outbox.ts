/**
 * The outbox of one collection: brings its newest wanted root onto the ledger, one transaction at a
 * time.
 *
 * Promises, however many instances believe that they are in charge, and wherever they pause: no two
 * transactions of a collection are ever in flight; roots on chain only move forward, unless an
 * operator decides otherwise; nothing is signed while the store keeps a contradiction of the
 * collection.
 * How it fails: `turn` does what it can without waiting and says when to come back. It throws when
 * the ledger or the store is out of reach, and may be called again at any time.
 * See docs/internals/anchoring.md.
 */
import { LEDGER_LAG_MAX_MS } from '../../../lib/ledger/lag.ts';
import { collectionRoot, isSameAnchor } from '../../../lib/shard/collection-root.ts';
import { committedCut, contains, mergeCuts } from '../../../lib/shard/cut.ts';
import { type Cut, isSameState } from '../../../lib/shard/head.ts';
import {
  type AnchorHistoryItem,
  type AnchorRow,
  type Confirmed,
  type InFlight,
  isWanting,
} from '../../../lib/store/anchors.ts';
import type { CollectionRow } from '../../../lib/store/catalog.ts';
import { backoffMs } from '../../../lib/time/backoff.ts';
import type { AnchoringContext, OutboxStep } from '../context.ts';
import type { SignedTransaction } from '../ledger/ledger-client.ts';
import { NOT_DELETED, wasDeleted } from '../recovery/deletion.ts';
import { type Finding, reconcile, shownBy, unsoundness } from '../recovery/reconciliation.ts';
import { changeRow, logHalt } from './anchor-row.ts';

/** What to do next: nothing for now, nothing ever more here, or another turn after `afterMs`. */
export type Turn = { next: 'idle' } | { next: 'done' } | { next: 'turn'; afterMs: number };

const IDLE: Turn = { next: 'idle' };
const DONE: Turn = { next: 'done' };
const AT_ONCE: Turn = { next: 'turn', afterMs: 0 };
const POLL = { minMs: 50, maxMs: 1_000 };
const RESEND_MS = 2_000;
/** Nodes of one ledger never differ by so much: this one is behind the transaction. */
const BEHIND_BLOCKS = 10_000n;
const LAG_POLL_MS = 500;
/**
 * What is signed is signed with a blockhash at most so many slots past the account that it was
 * decided by, and the ledger takes it in the 150 blocks after that. So nothing that lands was
 * decided by an account of long ago, whichever endpoint showed that. Two minutes: endpoints of one
 * ledger are seconds apart.
 */
const VIEW_MAX_SLOTS = 300n;

export class Outbox {
  readonly collectionId: string;
  readonly #context: AnchoringContext;
  /** The epoch at which row and account belonged together; only our changes came since. */
  #soundEpoch: number | null = null;
  /** The ledger's slot of that; null: a transaction of ours has landed since. */
  #soundSlot: bigint | null = null;
  /** What the account counts once a decision found then is carried out; null: none. */
  #decisions: number | null = null;
  /**
   * The transaction that is followed. `atMs`: when its bytes were sent last; null: not by this
   * instance.
   */
  #sent: { signature: string; atMs: number | null; polls: number } = { signature: '', atMs: null, polls: 0 };
  #signedAt: string | null = null;
  /** Since when the ledger shows less than it should. */
  #lag: { epoch: number; sinceMs: number } | null = null;

  constructor(context: AnchoringContext, collectionId: string) {
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
    if (!isWanting(row)) return IDLE;
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
    // Now, while what the ledger showed is fresh, and past what shards wrote down meanwhile.
    return mayGoOn && this.#soundEpoch !== null ? this.turn(false) : turn;
  }

  /** Stops anchoring until an operator decides. */
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
    const finding: Finding =
      row.trusted === shownBy(account)
        ? { outcome: 'sound' }
        : await reconcile(account, { ...row, logged, headsAt: (cut) => headsAt(collection, cut) });
    // The next turn comes after a pause, and finds contradictions that were written down meanwhile.
    if (finding.outcome === 'unsaid') throw new Error('A shard cannot say yet what it was at the confirmed root.');
    if (finding.outcome === 'halt') {
      // What one answer shows may be that of a node that is out of order, or behind.
      const mayPass = account.status === 'foreign' || finding.mayBeLag;
      if (mayPass && this.#mayStillCome(row)) return { next: 'turn', afterMs: LAG_POLL_MS };
      return this.#halt(row, finding.reason);
    }
    if (account.status === 'foreign') return this.#halt(row, account.reason);
    const created = account.status === 'found';
    const adopted = finding.outcome === 'adopt' ? finding.cut : null;
    const isKnown = row.created === created && (adopted === null || contains(row.wanted!, adopted));
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
    // Records followed the log as they liked so far: the first root contains all they may have.
    const cut = mergeCuts(row.wanted!, row.confirmed?.cut ?? (await committedCut(store.log, collection)));
    const reason = unsoundness(cut) ?? (await this.#heldAgainstShards(cut, collection));
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
   * Why what is to be signed is not what the shards were, as a sentence for the operator; null
   * where it is. Asked each time: the store may be made to forget a contradiction.
   */
  async #heldAgainstShards(cut: Cut, collection: CollectionRow): Promise<string | null> {
    const heads = await this.#context.headsAt(collection, cut);
    const shard = heads.findIndex((head, index) => head !== null && !isSameState(head, cut[index]!));
    if (shard >= 0) return `Shard ${shard} contradicts the root that was to be anchored.`;
    if (heads.includes(null)) throw new Error('A shard cannot say yet what it was at the root that is to be anchored.');
    return null;
  }

  async #close(row: AnchorRow): Promise<Turn> {
    const { ledger, log } = this.#context;
    const { status } = (await ledger.survey(this.collectionId, row)).account;
    if (status === 'found')
      return this.#launch(row, { step: 'close', cut: null, decisions: 0 }, await ledger.signClose(this.collectionId));
    if (row.created && this.#mayStillCome(row)) return { next: 'turn', afterMs: LAG_POLL_MS };
    if (status === 'foreign')
      log.warn({ address: row.address }, 'the ledger account of a deleted collection is not ours to close');
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
    what: Pick<InFlight, 'step' | 'cut' | 'decisions'>,
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

  async #follow(row: AnchorRow, inFlight: InFlight): Promise<Turn> {
    const { ledger } = this.#context;
    const { signature, wire } = inFlight;
    if (this.#sent.signature !== signature) this.#sent = { signature, atMs: null, polls: 0 };
    const refusal = await this.#send(wire);
    const { slot, height, missing } = await ledger.finalizedBlock();
    // After it, and of a node that has come to it: one that follows the ledger no more is not
    // asked, and past the last valid height unknown means dead.
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
    // A failed update's signature must not pass for the one that brought the root there.
    const mayBeDone = found.status === 'unknown' || inFlight.step !== 'update';
    if (mayBeDone && (await this.#isCarriedOut(inFlight, slot))) return this.#land(row, inFlight);
    return this.#bury(
      row,
      found.status === 'failed' ? found.reason : (refusal ?? 'the ledger did not take it in time'),
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

  /** Whether the account shows what a transaction without a known status was to do. */
  async #isCarriedOut({ step, cut, decisions }: InFlight, atSlot: bigint): Promise<boolean> {
    const account = await this.#context.ledger.read(this.collectionId, atSlot);
    if (step === 'close') return account.status === 'absent';
    if (account.status !== 'found') return false;
    if (step === 'create') return true;
    return account.fields !== null && isSameAnchor(account.fields, { ...collectionRoot(cut!), decisions });
  }

  async #land(row: AnchorRow, { step, cut, decisions, signature }: InFlight): Promise<Turn> {
    await this.#reach('confirmed');
    this.#soundSlot = null;
    switch (step) {
      case 'create':
        await this.#change(row, { created: true, inFlight: null });
        return AT_ONCE;
      case 'update':
        // What was sent before roots were no longer anchored may lie behind the records by now.
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
    const history = { ...root, signature, confirmedAt: new Date(clock.wallMs()).toISOString() };
    const confirmed: Confirmed = { cut, decisions, ...history };
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
        // What is left came after the transaction was signed.
        wantedAt: this.#signedAt ?? wantedAt,
      }),
      history,
    );
    if (stored === null) return AT_ONCE;
    counts.confirmed += 1;
    this.#tell(stored);
    return stored.closing || isWanting(stored) ? AT_ONCE : IDLE;
  }

  /** The transaction is dead: the next one is signed after another look at the account. */
  async #bury(row: AnchorRow, reason: string): Promise<Turn> {
    const { log, counts } = this.#context;
    const { collectionId } = this;
    if ((await this.#change(row, { inFlight: null })) === null) return AT_ONCE;
    this.#soundEpoch = null;
    counts.failures += 1;
    log.warn({ collectionId, step: row.inFlight?.step, reason }, 'an anchoring transaction failed; signing a new one');
    return { next: 'turn', afterMs: POLL.maxMs };
  }

  /** Whether what the ledger does not show may only be late; for a while. */
  #mayStillCome({ epoch }: AnchorRow): boolean {
    const monotonicMs = this.#context.clock.monotonicMs();
    if (this.#lag?.epoch !== epoch) this.#lag = { epoch, sinceMs: monotonicMs };
    return monotonicMs - this.#lag.sinceMs < LEDGER_LAG_MAX_MS;
  }

  /** The row as stored; null when another's change came first: then all is read anew. */
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

  /** A row that was just changed may answer those who wait, here and elsewhere. */
  #tell(row: AnchorRow): void {
    this.#context.waiters.settle(row);
    this.#context.tell(this.collectionId);
  }

  async #reach(step: OutboxStep): Promise<void> {
    await this.#context.onStep?.(step, this.collectionId);
  }
}
