import { lstatSync, type Stats } from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Backup } from '../../contracts/actions/cluster.ts';
import { ProvecError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { Config } from '../../process/config.ts';
import type { Store } from '../../store/port.ts';

const JOURNAL = 'ledger/journal.ndjson';
const KEYPAIR = 'ledger-keypair.json';
const SECRET = 'secret';
/** Files that must be kept secret, with their descriptions. */
const SECRETS: Readonly<Record<string, string>> = { [SECRET]: 'the secret', [KEYPAIR]: 'the ledger keypair' };

interface BackupParts {
  config: Pick<Config, 'dataDir' | 'mongoUrl' | 'secret' | 'secretFile' | 'solanaKeypair' | 'solanaRpcUrls'>;
  store: Pick<Store, 'backup'>;
  clock: Pick<Clock, 'wallMs'>;
}

/**
 * Copies a consistent snapshot of the data folder to `folder`, an absolute path that is empty or
 * does not exist: the store, the embedded ledger and, unless `withoutSecrets`, the keypair and the
 * secret. Throws INVALID_ARGUMENT, and UNAVAILABLE if copying failed.
 */
export async function backUp(
  { config, store, clock }: BackupParts,
  folder: string,
  withoutSecrets = false,
): Promise<Backup> {
  if (store.backup === null)
    throw new ProvecError('INVALID_ARGUMENT', 'The data is in MongoDB: use mongodump --oplog (docs/operations.md).');
  const { dataDir } = config;
  if (!isAbsolute(folder)) throw new ProvecError('INVALID_ARGUMENT', 'folder must be an absolute path.');
  if (isWithin(folder, dataDir) || isWithin(dataDir, folder))
    throw new ProvecError('INVALID_ARGUMENT', `${folder} and the data folder ${dataDir} must not lie in each other.`);
  const beside = [JOURNAL, KEYPAIR, SECRET].map((name) => ({ name, found: statOrNothing(join(dataDir, name)) }));
  const files = beside.filter(({ found }) => found?.isFile()).map(({ name }) => name);
  const own = withoutSecrets ? files.filter((name) => SECRETS[name] === undefined) : files;
  const secrets = own.flatMap((name) => SECRETS[name] ?? []);
  const left = files.filter((name) => !own.includes(name));
  const leftOut = left.flatMap((name) => SECRETS[name] ?? []);
  const elsewhere = left.map((name) => `${SECRETS[name]} (${join(dataDir, name)})`);
  const links = beside.filter(({ found }) => found?.isSymbolicLink()).map(({ name }) => `what ${name} links to`);
  const at = new Date(clock.wallMs()).toISOString();
  try {
    const { bytes } = await store.backup(folder, own);
    return { folder, bytes, at, secrets, leftOut, outside: [...elsewhere, ...links, ...neededOutside(config)] };
  } catch (error) {
    throw new ProvecError('UNAVAILABLE', `The backup failed: ${(error as Error).message}.`, { cause: error });
  }
}

const statOrNothing = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false });

function isWithin(path: string, folder: string): boolean {
  const way = relative(resolve(folder), resolve(path));
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way));
}

/** Returns what a start needs from outside the data folder. */
function neededOutside({ secret, secretFile, solanaKeypair, solanaRpcUrls }: BackupParts['config']): string[] {
  return [
    ...(secret === null ? [] : ['the secret (PROVEC_SECRET)']),
    ...(secretFile === null ? [] : [`the secret (${secretFile})`]),
    ...(solanaKeypair === null ? [] : [`the ledger keypair (${solanaKeypair})`]),
    ...(solanaRpcUrls === null ? [] : ['the ledger, which continues without the copy']),
  ];
}
