/**
 * Services that test files share: each file has an account of its own in one of them (`shared-service.ts`). They are started when the first file asks, as
 * `npm start` would, and ended after the last. Jest calls the two functions in its main process, before and after all files.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ServiceProcess, startProcess } from './service-process.ts';
import { ADMIN_TOKEN } from './tenant.ts';

const ENVIRONMENTS = {
  plain: { PROVEC_LEDGER: 'off' },
  anchored: {},
} as const;
/** `anchored` has the embedded ledger. */
export type LentService = keyof typeof ENVIRONMENTS;
/** The address to ask for one at, in the environment of each test file. */
export const LENDER_VARIABLE = 'PROVEC_TEST_LENDER';

const COMMON = { PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, PROVEC_LOG_LEVEL: 'error' };
const started = new Map<LentService, Promise<ServiceProcess>>();
let lender: Server | null = null;

function lend(kind: LentService): Promise<ServiceProcess> {
  let service = started.get(kind);
  if (service === undefined) {
    service = startProcess({ ...COMMON, ...ENVIRONMENTS[kind] });
    started.set(kind, service);
  }
  return service;
}

export async function startLending(): Promise<void> {
  lender = createServer((request, response) => {
    lend(request.url?.slice(1) as LentService).then(
      ({ url }) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => lender?.listen(0, '127.0.0.1', resolve));
  process.env[LENDER_VARIABLE] = `http://127.0.0.1:${(lender.address() as AddressInfo).port}`;
}

/** Ends them; throws when one had ended by itself, or says an error of its own that no test can have asked for. */
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
