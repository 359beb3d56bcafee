/**
 * `npm run demo`: loads 2,000 Debian packages into a service through its public API and shows what
 * it answers. Then it changes one stored record behind the service's back, in a copy of the store,
 * and shows that verify names that record.
 *
 * With PROVEC_URL and PROVEC_KEY set it uses that service and skips the change; otherwise it starts
 * its own service in a temporary folder.
 */
import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ApiClient } from './api-client.ts';
import { debianSample, type Package } from './debian-sample.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';
import { foldWriteAheadLogs, overwriteBytes } from './tampering.ts';

const COLLECTION = 'debian-demo';
const BATCH = 500;
const QUERIED = 'redis-server';

interface Match {
  id: string;
  score: number;
  metadata: { section: string; installedKiB: number };
}
interface Verified {
  verified: boolean;
  state: string;
  computedRoot: string;
  onChainRoot: string | null;
  ledgerExplorerUrl: string | null;
  reason?: string;
  differences?: { id: string; what: string }[];
}
interface Written {
  merkleRoot: string;
  ledgerTx: string | null;
  ledgerExplorerUrl: string | null;
  version: number;
  vectorCount: number;
}

const say = (line = '') => console.log(line);

function showMatches(title: string, matches: Match[]): void {
  say(`\n${title}`);
  for (const { id, score, metadata } of matches) {
    say(`  ${score.toFixed(4)}  ${id.padEnd(34)} ${metadata.section.padEnd(14)} ${metadata.installedKiB} KiB`);
  }
}

function showVerified(verified: Verified): void {
  say(`  state      ${verified.state}${verified.reason ? ` (${verified.reason})` : ''}`);
  say(`  computed   ${verified.computedRoot}`);
  say(`  on chain   ${verified.onChainRoot}`);
  for (const { id, what } of verified.differences ?? []) say(`  differs    ${id}: ${what}`);
}

async function load(api: ApiClient, packages: Package[]): Promise<Written> {
  // The collection may not exist yet; creating it reports everything else.
  await api.call('DELETE', `/collections/${COLLECTION}`).catch(() => undefined);
  await api.call('POST', '/collections', {
    name: COLLECTION,
    dimensions: packages[0]!.values.length,
    metric: 'cosine',
  });
  const startedMs = performance.now();
  let last: Written | undefined;
  for (let at = 0; at < packages.length; at += BATCH) {
    last = await api.call<Written>('POST', `/collections/${COLLECTION}/upsert`, {
      records: packages.slice(at, at + BATCH),
    });
  }
  say(
    `${packages.length} packages loaded, each batch stored and anchored before it was acknowledged: ${((performance.now() - startedMs) / 1000).toFixed(1)} s`,
  );
  return last!;
}

async function tamper(dataDir: string, key: string, victim: Package, workFolder: string): Promise<void> {
  const copy = join(workFolder, 'copy');
  cpSync(dataDir, copy, { recursive: true, filter: (path) => !/^lock[.-]/.test(basename(path)) });
  foldWriteAheadLogs(copy);
  const size = `"size":${victim.metadata.size}`;
  const places = overwriteBytes(
    copy,
    Buffer.from(size),
    Buffer.from(`${size.slice(0, -1)}${(Number(size.at(-1)) + 1) % 10}`),
  );
  say(
    `\nOne digit of the size of ${victim.id} changed on disk, in a copy of the store (${places} places). A service on that copy:`,
  );
  const tampered = await startServiceProcess(copy, key);
  try {
    const verified = await new ApiClient(tampered.url, key).call<Verified>('GET', `/collections/${COLLECTION}/verify`);
    showVerified(verified);
    if (verified.verified || !verified.differences?.some(({ id }) => id === victim.id))
      throw new Error('the change was not found');
  } finally {
    await tampered.stop();
  }
}

async function main(): Promise<void> {
  const workFolder = mkdtempSync(join(tmpdir(), 'provec-demo-'));
  const key = process.env.PROVEC_KEY ?? `pv_live_${randomBytes(32).toString('base64url')}`;
  const dataDir = join(workFolder, 'data');
  let own: ServiceProcess | null = null;
  try {
    if (!process.env.PROVEC_URL) own = await startServiceProcess(dataDir, key);
    const api = new ApiClient(process.env.PROVEC_URL ?? own!.url, key);
    const packages = debianSample();
    const written = await load(api, packages);
    const victim =
      packages.find(({ id }) => id === QUERIED) ?? packages.find(({ metadata }) => metadata.section === 'database')!;

    const { matches } = await api.call<{ matches: Match[] }>('POST', `/collections/${COLLECTION}/query`, {
      id: victim.id,
      topK: 6,
    });
    showMatches(`Packages most like ${victim.id}`, matches);
    const filtered = await api.call<{ matches: Match[] }>('POST', `/collections/${COLLECTION}/query`, {
      id: victim.id,
      topK: 6,
      filter: { section: 'database' },
    });
    showMatches(`The same within section = database`, filtered.matches);

    say('\nAnchored');
    say(`  root         ${written.merkleRoot}`);
    say(`  version      ${written.version}, ${written.vectorCount} vectors`);
    say(`  transaction  ${written.ledgerTx}`);
    if (written.ledgerExplorerUrl !== null) say(`  explorer     ${written.ledgerExplorerUrl}`);

    say('\nVerified against the ledger, from the stored bytes');
    showVerified(await api.call<Verified>('GET', `/collections/${COLLECTION}/verify`));

    if (own) {
      // The files of a running service would change while they are copied.
      await own.stop();
      await tamper(dataDir, key, victim, workFolder);
    } else say('\nWithout PROVEC_URL the demo starts its own service, and changes a record behind its back.');
  } finally {
    await own?.stop();
    rmSync(workFolder, { recursive: true, force: true });
  }
}

await main().catch((error: unknown) => {
  process.stderr.write(`The demo cannot go on: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
