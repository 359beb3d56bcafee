import type { Logger } from 'pino';
import type { LedgerClient } from './ledger-client.ts';

const LAMPORTS_PER_SOL = 1_000_000_000n;
const EMBEDDED_LOW = 1_000n * LAMPORTS_PER_SOL;
const AIRDROP = 100_000n * LAMPORTS_PER_SOL;
/**
 * Balance in lamports below which the operator is warned. An open account costs about 0.005 SOL, an
 * update 0.000005 SOL.
 */
const LOW = LAMPORTS_PER_SOL / 20n;

/** Funds the authority on the embedded ledger. */
export async function fundFromEmbeddedLedger(ledger: LedgerClient): Promise<void> {
  if ((await ledger.balance()) < EMBEDDED_LOW) await ledger.airdrop(AIRDROP);
}

/** Warns the operator of another ledger when funds run low. Never rejects. */
export async function warnOfLowFunds(ledger: LedgerClient, log: Logger): Promise<void> {
  try {
    const lamports = await ledger.balance();
    if (lamports >= LOW) return;
    const sol = Number(lamports) / Number(LAMPORTS_PER_SOL);
    log.warn(
      { authority: ledger.authority, sol },
      'the ledger authority has little SOL left: fund it, or anchors will fail',
    );
  } catch {
    log.warn('the ledger cannot be reached yet; anchors wait until it can');
  }
}
