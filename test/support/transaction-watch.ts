import {
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getSignatureFromTransaction,
  getTransactionDecoder,
  type Signature,
} from '@solana/web3.js';
import type { LedgerClient } from '../../services/anchoring/ledger/ledger-client.ts';
import { rpc } from '../unit/services/anchoring/fixture.ts';

interface Sent {
  signature: Signature;
  blockhash: string;
}

/**
 * Watches every transaction on its way to the ledger and records breaches: a transaction sent while
 * another of the same collection may still land, or a version on chain that decreases.
 */
export class TransactionWatch {
  readonly breaches: string[] = [];
  /** Versions on chain after each transaction, by collection. */
  readonly versions = new Map<string, number[]>();
  /** Distinct transactions sent, by collection. */
  readonly sent = new Map<string, Sent[]>();
  readonly ledgerUrl: string;
  readonly #client: LedgerClient;
  readonly #collections = new Map<string, string>();
  /** Those of `sent` that were in flight at the last check. A settled transaction stays settled. */
  readonly #inFlight = new Map<string, Sent[]>();
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(ledgerUrl: string, client: LedgerClient) {
    this.ledgerUrl = ledgerUrl;
    this.#client = client;
  }

  async add(collectionId: string): Promise<void> {
    this.#collections.set(await this.#client.address(collectionId), collectionId);
    this.versions.set(collectionId, []);
    this.sent.set(collectionId, []);
    this.#inFlight.set(collectionId, []);
  }

  /**
   * Checks what is in flight, then sends a transaction with `forward`. Handles one transaction per
   * collection at a time, so that what it sees stays true.
   */
  pass<T>(wire: string, forward: (signature: Signature) => Promise<T>): Promise<T> {
    const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(wire));
    const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
    const collectionId = message.staticAccounts.map((account) => this.#collections.get(account)).find(Boolean);
    const own = { signature: getSignatureFromTransaction(transaction), blockhash: message.lifetimeToken };
    if (!collectionId) return forward(own.signature);
    const before = this.#turns.get(collectionId) ?? Promise.resolve();
    const turn = before.then(() => this.#pass(collectionId, own, () => forward(own.signature)));
    this.#turns.set(
      collectionId,
      turn.catch(() => undefined),
    );
    return turn;
  }

  async #pass<T>(collectionId: string, own: Sent, forward: () => Promise<T>): Promise<T> {
    const sent = this.sent.get(collectionId)!;
    if (!sent.some(({ signature }) => signature === own.signature)) {
      sent.push(own);
      this.#inFlight.get(collectionId)!.push(own);
    }
    await this.#examine(collectionId, own);
    const answer = await forward();
    await this.#look(collectionId);
    return answer;
  }

  async #examine(collectionId: string, own: Sent): Promise<void> {
    const inFlight: Sent[] = [];
    for (const sent of this.#inFlight.get(collectionId)!) if (!(await this.#isSettled(sent))) inFlight.push(sent);
    this.#inFlight.set(collectionId, inFlight);
    if (!inFlight.includes(own)) return;
    for (const other of inFlight) {
      if (other !== own)
        this.breaches.push(`${own.signature} is sent while ${other.signature} is in flight (${collectionId}).`);
    }
  }

  async #look(collectionId: string): Promise<void> {
    const account = await this.#client.read(collectionId);
    const versions = this.versions.get(collectionId)!;
    const version = account.status === 'found' ? account.fields?.version : undefined;
    if (version === undefined || version === versions.at(-1)) return;
    if (version < (versions.at(-1) ?? 0))
      this.breaches.push(`Version ${version} came over ${versions.at(-1)} (${collectionId}).`);
    versions.push(version);
  }

  /** Whether the ledger has taken the transaction, or can no longer take it. */
  async #isSettled({ signature, blockhash }: Sent): Promise<boolean> {
    const options = { searchTransactionHistory: true };
    const { value } = await rpc<{ value: unknown[] }>(this.ledgerUrl, 'getSignatureStatuses', [[signature], options]);
    if (value[0] !== null) return true;
    return !(await rpc<{ value: boolean }>(this.ledgerUrl, 'isBlockhashValid', [blockhash])).value;
  }
}
