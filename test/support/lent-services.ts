/**
 * Services that test files share; each file has its own account in one of them
 * (`shared-service.ts`). They start when the first file asks, as `npm start` would, and end after
 * the last. Jest calls the two functions in its main process, before and after all files.
 */
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { getBase58Decoder } from '@solana/web3.js';
import { watchParent } from '../../process/parent-watch.ts';
import { ENVIRONMENTS, LENDER_VARIABLE, type LentService, type LentServiceInfo } from './lending.ts';
import { type ServiceProcess, startProcess } from './service-process.ts';

const started = new Map<LentService, Promise<ServiceProcess>>();
let lender: Server | null = null;

function lend(kind: LentService): Promise<ServiceProcess> {
  let service = started.get(kind);
  if (service === undefined) {
    service = startProcess({ ...ENVIRONMENTS[kind], PROVEC_LOG_LEVEL: 'error' });
    started.set(kind, service);
  }
  return service;
}

async function loanOf({ url, dataDir, stdout }: ServiceProcess): Promise<LentServiceInfo> {
  const ledgerUrl = /, RPC (http:\S+),/.exec(stdout)?.[1];
  if (ledgerUrl === undefined) return { url, ledger: null };
  const numbers = JSON.parse(await readFile(join(dataDir, 'ledger-keypair.json'), 'utf8')) as number[];
  const authority = getBase58Decoder().decode(Uint8Array.from(numbers.slice(32)));
  return { url, ledger: { url: ledgerUrl, authority } };
}

export async function startLending(): Promise<void> {
  watchParent(() => process.exit(1), `${process.ppid}`);
  lender = createServer((request, response) => {
    // A kept-alive connection could be closed at the moment it is reused.
    response.setHeader('connection', 'close');
    const lent = lend(request.url?.slice(1) as LentService).then(loanOf);
    lent.then(
      (loan) => response.end(JSON.stringify(loan)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => lender?.listen(0, '127.0.0.1', resolve));
  process.env[LENDER_VARIABLE] = `http://127.0.0.1:${(lender.address() as AddressInfo).port}`;
}

/**
 * Ends the services. Throws when one had exited by itself, or logged an error that no test can have
 * caused.
 */
export async function endLending(): Promise<void> {
  lender?.close();
  const faults: string[] = [];
  for (const [kind, starting] of started) {
    const service = await starting;
    const { code, signal } = await service.kill('SIGTERM');
    if (code !== 0 || signal !== null)
      faults.push(`the service that tests shared (${kind}) ended with ${code ?? signal}`);
    if (service.stderr !== '') faults.push(service.stderr);
    await service.dispose();
  }
  if (faults.length > 0) throw new Error(faults.join('\n'));
}
