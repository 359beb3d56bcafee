import {
  appendTransactionMessageInstructions,
  type Blockhash,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  type IInstruction,
  type KeyPairSigner,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/web3.js';
import { FailedTransactionMetadata, LiteSVM } from 'litesvm';

/** LiteSVM declares its own branded types for the same strings, numbers and bytes. */
type LedgerAddress = Parameters<LiteSVM['getAccount']>[0];
type LedgerLamports = Parameters<LiteSVM['airdrop']>[1];
type LedgerTransaction = Parameters<LiteSVM['sendTransaction']>[0];

/** Solana's own runtime and programs in this process, with one payer. */
export class LiteLedger {
  readonly #svm = new LiteSVM();
  readonly #payer: KeyPairSigner;

  constructor(payer: KeyPairSigner) {
    this.#payer = payer;
    this.#svm.airdrop(payer.address as string as LedgerAddress, 100_000_000_000n as LedgerLamports);
  }

  rentOf(bytes: number): bigint {
    return this.#svm.minimumBalanceForRentExemption(BigInt(bytes));
  }

  /**
   * Sends one transaction; returns it in base64, with its signature. Rejects when the ledger
   * refuses it.
   */
  async send(instructions: IInstruction[]): Promise<{ wire: string; signature: string }> {
    const message = pipe(
      createTransactionMessage({ version: 'legacy' }),
      (empty) => setTransactionMessageFeePayerSigner(this.#payer, empty),
      (paid) =>
        setTransactionMessageLifetimeUsingBlockhash(
          { blockhash: this.#svm.latestBlockhash() as string as Blockhash, lastValidBlockHeight: 1_000n },
          paid,
        ),
      (dated) => appendTransactionMessageInstructions(instructions, dated),
    );
    const transaction = await signTransactionMessageWithSigners(message);
    const result = this.#svm.sendTransaction(transaction as object as LedgerTransaction);
    if (result instanceof FailedTransactionMetadata) throw new Error(String(result));
    return { wire: getBase64EncodedWireTransaction(transaction), signature: getSignatureFromTransaction(transaction) };
  }

  account(address: string): { address: string; owner: string; data: Uint8Array } {
    const found = this.#svm.getAccount(address as LedgerAddress);
    if (!found.exists) throw new Error('the ledger has no such account');
    return { address, owner: found.programAddress, data: new Uint8Array(found.data) };
  }
}
