/** Checks of this machine: Node, the disk of the data folder, open files. */
import { readFile, stat, statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { MetricsPage } from '../../client/metrics/metrics-page.ts';
import { bytesText } from '../output/quantities.ts';
import { type Finding, findingsOf } from './finding.ts';
import type { ServiceSettings } from './service-settings.ts';

const NODE_MAJOR = 24;
const MIB = 1024 * 1024;
const RESERVE_MIB = 256;
/** Share of the disk that should be free. */
const FREE_PART = 0.2;
const FILES_NEEDED = 1_024;
const FILES_WANTED = 4_096;
const FILES_USED_PART = 0.8;
/** Permissions of others. A group may be the service's own, as in a container. */
const OTHERS = 0o007;

export function nodeFinding(version: string): Finding {
  const { ok, problem } = findingsOf('node');
  const [major = 0] = version.split('.').map(Number);
  return major >= NODE_MAJOR
    ? ok(`Node ${version} runs this command.`)
    : problem(`Node ${version} runs this command, but Provec needs Node ${NODE_MAJOR}: install it, or run npm ci.`);
}

const folderOf = (settings: ServiceSettings): string => resolve(settings.get('PROVEC_DATA_DIR') ?? './data');

export async function diskFinding(settings: ServiceSettings): Promise<Finding> {
  const { unknown } = findingsOf('disk');
  const folder = folderOf(settings);
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    const reserveMib = Number(settings.get('PROVEC_DISK_RESERVE_MB') ?? RESERVE_MIB);
    return roomFinding(folder, { free: bavail * bsize, total: blocks * bsize, reserve: reserveMib * MIB });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return unknown(`The data folder ${folder} is not on this machine (${code}); PROVEC_DATA_DIR names another.`);
  }
}

/** Checks the free space on a disk, in bytes. */
export function roomFinding(folder: string, disk: { free: number; total: number; reserve: number }): Finding {
  const { ok, warning, problem } = findingsOf('disk');
  const { free, total, reserve } = disk;
  const is = `${bytesText(free)} of ${bytesText(total)} are free on the disk of ${folder}`;
  if (free < reserve)
    return problem(`${is}, less than PROVEC_DISK_RESERVE_MB, so upserts get 507: free space, or enlarge the disk.`);
  if (free - reserve < FREE_PART * (total - reserve))
    return warning(`${is}: plan a larger disk, or move other data away.`);
  return ok(`${is}.`);
}

/** Checks the gateway's limit if its metrics show it, else this machine's. */
export async function filesFinding(metrics: MetricsPage | null): Promise<Finding> {
  const { unknown } = findingsOf('open files');
  const ofGateway = metrics?.sum('process_max_fds') ?? null;
  if (ofGateway !== null) return limitFinding('The gateway', ofGateway, metrics?.sum('process_open_fds') ?? 0);
  try {
    const [, limit] = /^Max open files +(\d+)/m.exec(await readFile('/proc/self/limits', 'utf8')) ?? [];
    if (limit !== undefined) return limitFinding('A process on this machine', Number(limit), 0);
  } catch {
    // Only Linux has this file.
  }
  return unknown(
    "Neither the gateway's metrics nor this machine say how many files a process may open: see ulimit -n.",
  );
}

/** Checks how many files a process has open and may open. */
export function limitFinding(who: string, limit: number, open: number): Finding {
  const { ok, warning, problem } = findingsOf('open files');
  const is = `${who} may open ${limit} files`;
  const raise = 'raise it (ulimit -n, or LimitNOFILE of its service)';
  if (limit < FILES_NEEDED) return problem(`${is}, which is too few for connections and the store: ${raise}.`);
  if (open > FILES_USED_PART * limit) return problem(`${is} and has ${open} open: ${raise}.`);
  if (limit < FILES_WANTED) return warning(`${is}, a connection each: ${raise} before there are many clients.`);
  return ok(`${is}.`);
}

/** Checks that other users of this machine cannot read the secrets. */
export async function secretsFinding(settings: ServiceSettings): Promise<Finding> {
  const { ok, problem, unknown } = findingsOf('secrets');
  const folder = folderOf(settings);
  const files = [
    settings.get('PROVEC_SECRET_FILE') ?? `${folder}/secret`,
    settings.get('PROVEC_SOLANA_KEYPAIR') ?? `${folder}/ledger-keypair.json`,
    ...(settings.get('PROVEC_ADMIN_TOKEN_FILE') === undefined ? [] : [settings.get('PROVEC_ADMIN_TOKEN_FILE')!]),
  ];
  const modes = await Promise.all(
    files.map(async (file) => ({
      file,
      mode: await stat(file).then(
        ({ mode }) => mode,
        () => null,
      ),
    })),
  );
  const found = modes.filter(({ mode }) => mode !== null);
  const open = found.filter(({ mode }) => (mode! & OTHERS) !== 0).map(({ file }) => file);
  if (open.length > 0) return problem(`Other users can read ${open.join(', ')}: run chmod 600 ${open.join(' ')}.`);
  if (found.length === 0) return unknown('No file with a secret of the service is on this machine.');
  return ok(`Only their owner can read ${found.map(({ file }) => file).join(', ')}.`);
}
