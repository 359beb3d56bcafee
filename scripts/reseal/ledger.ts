import { join } from 'node:path';
import type { Logger } from 'pino';
import { SYSTEM_CLOCK } from '../../lib/time/clock.ts';
import type { Config } from '../../process/config.ts';
import { openAuthority } from '../../services/anchoring/ledger/authority.ts';
import { LedgerClient } from '../../services/anchoring/ledger/ledger-client.ts';
import { RpcPool } from '../../services/anchoring/ledger/rpc-pool.ts';
import { sealKeyOf } from '../../services/anchoring/outbox/row-seal.ts';
import { type DevLedger, startDevLedger } from '../../services/devledger/process.ts';
import type { AnchorStore } from '../../store/anchors.ts';
import { type Witness, witnessOf } from './ledger-comparison.ts';

/** The service's ledger, open while a store is compared with it. */
export interface OpenLedger {
  witness: Witness;
  close(): Promise<void>;
}

/** Throws ConfigError, or an error with a sentence for the operator, when there is no ledger. */
export async function openLedger(config: Config, anchors: AnchorStore, log: Logger): Promise<OpenLedger> {
  const { dataDir, solanaKeypair, solanaRpcUrls } = config;
  const file = solanaKeypair ?? join(dataDir, 'ledger-keypair.json');
  const authority = await openAuthority(file, false, log);
  const embedded: DevLedger | null = solanaRpcUrls === null ? await startDevLedger({ dataDir, log }) : null;
  const urls = (): readonly string[] => (embedded ? [embedded.url] : (solanaRpcUrls ?? []));
  const monotonicMs = (): number => SYSTEM_CLOCK.monotonicMs();
  const pool = new RpcPool({ embedded: embedded !== null, urls }, monotonicMs);
  return {
    witness: witnessOf(new LedgerClient(pool, authority, monotonicMs), anchors, sealKeyOf(file)),
    async close() {
      pool.close();
      await embedded?.stop();
    },
  };
}
