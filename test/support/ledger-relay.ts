import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SYSTEM_CLOCK } from '../../lib/time/clock.ts';
import { openAuthority } from '../../services/anchoring/ledger/authority.ts';
import { LedgerClient } from '../../services/anchoring/ledger/ledger-client.ts';
import { RpcPool } from '../../services/anchoring/ledger/rpc-pool.ts';
import { type DevLedger, startDevLedger } from '../../services/devledger/process.ts';
import { signalIfThere } from './process-group.ts';

const SILENT = pino({ level: 'silent' });
const FUNDS = 100_000_000_000n;

export type Rewrite = (method: string, answer: string) => string;
/**
 * A request on its way to the ledger: the path of its URL, its body, and a function that forwards
 * it.
 */
export interface Passing {
  path: string;
  asked: string;
  forward(): Promise<string>;
}
/** Forwards requests in any way and at any time. A rejection closes the connection. */
export type Intercept = (passing: Passing) => Promise<string>;

/**
 * A Solana ledger outside the service (the real runtime, in its own process), behind an RPC address
 * that stays the same. The address can go dead and can lie. `environment` makes a service use it.
 */
export class LedgerRelay {
  /** While true, connections are closed. */
  isDown = false;
  /** Changes the ledger's responses, as a lying or forked RPC server would. */
  rewrite: Rewrite | null = null;
  /** Intercepts every request to the ledger. */
  intercept: Intercept | null = null;
  readonly #folder: string;
  readonly #ledger: DevLedger;
  readonly #server: Server;

  private constructor(folder: string, ledger: DevLedger) {
    this.#folder = folder;
    this.#ledger = ledger;
    this.#server = createServer((req, res) => {
      this.#serve(req, res).catch(() => res.destroy());
    });
  }

  static async open(): Promise<LedgerRelay> {
    const folder = await mkdtemp(join(tmpdir(), 'provec-relay-'));
    const relay = new LedgerRelay(folder, await startDevLedger({ dataDir: folder, log: SILENT }));
    await new Promise<void>((resolve) => relay.#server.listen(0, '127.0.0.1', resolve));
    await (await relay.client('authority')).airdrop(FUNDS);
    return relay;
  }

  get environment(): Record<string, string> {
    return { PROVEC_SOLANA_RPC_URLS: this.url, PROVEC_SOLANA_KEYPAIR: this.#keypair('authority') };
  }

  /** URL that bypasses the relay. */
  get ledgerUrl(): string {
    return this.#ledger.url;
  }

  /**
   * Sends SIGKILL to the ledger, which restarts by itself. Does nothing when it is dead already.
   */
  killLedger(): void {
    signalIfThere(this.#ledger.pid, 'SIGKILL');
  }

  /** Returns a client that signs with the named keypair, which is created if it does not exist. */
  async client(name: string): Promise<LedgerClient> {
    const monotonicMs = () => SYSTEM_CLOCK.monotonicMs();
    const authority = await openAuthority(this.#keypair(name), true, SILENT);
    return new LedgerClient(
      new RpcPool({ embedded: true, urls: () => [this.#ledger.url] }, monotonicMs),
      authority,
      monotonicMs,
    );
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#ledger.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #keypair(name: string): string {
    return join(this.#folder, `${name}.json`);
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    if (this.isDown) return void res.destroy();
    const asked = Buffer.concat(chunks).toString();
    const headers = { 'content-type': 'application/json' };
    let status = 200;
    const forward = async () => {
      const answer = await fetch(this.#ledger.url, { method: 'POST', headers, body: asked });
      status = answer.status;
      return answer.text();
    };
    const text = await (this.intercept?.({ path: req.url ?? '/', asked, forward }) ?? forward());
    const { method } = JSON.parse(asked) as { method: string };
    res.writeHead(status, headers).end(this.rewrite?.(method, text) ?? text);
  }
}
