import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { SYSTEM_CLOCK } from '../../lib/time/clock.ts';
import { openAuthority } from '../../services/anchoring/ledger/authority.ts';
import { LedgerClient } from '../../services/anchoring/ledger/ledger-client.ts';
import { RpcPool } from '../../services/anchoring/ledger/rpc-pool.ts';
import { signalIfThere } from './process-group.ts';
import type { TestService } from './service.ts';
import { until } from './until.ts';

/** The embedded ledger of a service in this process, for tests that inspect or damage it. */
export class EmbeddedLedger {
  readonly #service: TestService;

  constructor(service: TestService) {
    this.#service = service;
  }

  /** Folder of the ledger's state. */
  get folder(): string {
    return join(this.#service.dataDir, 'ledger');
  }

  /** Returns a client with the service's own authority. */
  async client(): Promise<LedgerClient> {
    const authority = await openAuthority(
      join(this.#service.dataDir, 'ledger-keypair.json'),
      false,
      pino({ level: 'silent' }),
    );
    const monotonicMs = () => SYSTEM_CLOCK.monotonicMs();
    const urls = () => [this.#service.provec.devLedger!.url];
    return new LedgerClient(new RpcPool({ embedded: true, urls }, monotonicMs), authority, monotonicMs);
  }

  /**
   * Sends SIGKILL; the service restarts the ledger by itself. Does nothing when it is dead already.
   */
  kill(): void {
    signalIfThere(this.#service.provec.devLedger!.pid, 'SIGKILL');
  }

  async answers(): Promise<boolean> {
    const body = '{"jsonrpc":"2.0","id":1,"method":"getHealth"}';
    const asked = fetch(this.#service.provec.devLedger!.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    return asked.then(
      ({ ok }) => ok,
      () => false,
    );
  }

  /**
   * Kills the ledger and prevents its restart until `comeBack`, by putting a file in place of its
   * folder.
   */
  async stayDown(): Promise<void> {
    renameSync(this.folder, `${this.folder}.aside`);
    writeFileSync(this.folder, '');
    this.kill();
    await until('the ledger is down', async () => !(await this.answers()));
  }

  /** Moves the ledger's folder back into place. */
  restore(): void {
    rmSync(this.folder);
    renameSync(`${this.folder}.aside`, this.folder);
  }

  /** Lets the ledger restart with its previous state, or as another chain. */
  async comeBack(chain: 'same' | 'another' = 'same'): Promise<void> {
    if (chain === 'same') this.restore();
    else rmSync(this.folder);
    await until('the ledger is back', () => this.answers());
    if (!existsSync(this.folder)) throw new Error('the ledger runs elsewhere');
  }
}
