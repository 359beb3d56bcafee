/**
 * The file of an installation's secret. Anyone who has it can forge everything sealed with its
 * keys, and without it the store cannot be verified. So it is created once, for its owner only, and
 * never replaced.
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { link, open, readFile, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { systemCode } from '../lib/host/system-error.ts';
import type { Secrets } from '../lib/secret/keyring.ts';
import { parseSecrets, SECRETS_FORMAT } from '../lib/secret/secrets-text.ts';
import { type Config, ConfigError } from './config.ts';

const SECRET_BYTES = 32;
const READABLE_BY_OTHERS = 0o004;

export const defaultSecretFile = (dataDir: string): string => join(dataDir, 'secret');

/**
 * Returns the installation's secrets. With `mayCreate`, at the first start on an embedded store,
 * creates the file at its default path if it is missing. Throws ConfigError, which never repeats
 * the file's content.
 */
export async function loadSecrets(
  { secret, secretFile, dataDir, mongoUrl }: Pick<Config, 'secret' | 'secretFile' | 'dataDir' | 'mongoUrl'>,
  mayCreate: boolean,
  log: Pick<Logger, 'warn' | 'debug'>,
): Promise<Secrets> {
  if (secret !== null && secretFile !== null)
    throw new ConfigError('Only one of PROVEC_SECRET and PROVEC_SECRET_FILE can be set.');
  if (secret !== null) return secret;
  if (secretFile === null && mongoUrl !== null) {
    throw new ConfigError(
      'PROVEC_SECRET or PROVEC_SECRET_FILE must be set with PROVEC_MONGO_URL: every node needs the same secret.',
    );
  }
  const file = secretFile ?? defaultSecretFile(dataDir);
  if (secretFile === null && mayCreate && (await makeSecret(file)))
    log.debug({ file }, 'created the secret of this installation');
  const secrets = parseSecrets(await textOf(file, whatToDo(secretFile !== null, mayCreate, mongoUrl !== null)));
  if (secrets === null) throw new ConfigError(`PROVEC_SECRET_FILE must be a file of ${SECRETS_FORMAT}: ${file}.`);
  if (process.platform !== 'win32' && ((await stat(file)).mode & READABLE_BY_OTHERS) !== 0)
    log.warn({ file }, 'Other users of this machine can read the secret: chmod 600 it.');
  return secrets;
}

/**
 * Returns the advice if the file is missing. A configured path is never created: a node started
 * without its mounted secret would otherwise make a store under a secret that is not kept.
 */
function whatToDo(isNamed: boolean, isFirstStart: boolean, isShared: boolean): string {
  const back = 'put back the secret that the store was created with';
  const make = 'create one there (openssl rand -base64 32)';
  if (!isNamed) return `${back}, or set PROVEC_DATA_DIR to the folder of the store`;
  if (isFirstStart) return `${make}, or unset the variable to have Provec make one in the data folder`;
  return isShared ? `${back}, or, if no node has started yet, ${make}` : back;
}

/** Throws ConfigError if the file cannot be read. */
async function textOf(file: string, whereThereIsNone: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = systemCode(error);
    const what =
      code === 'ENOENT'
        ? `but ${file} does not exist: ${whereThereIsNone}`
        : `but Provec cannot read ${file} (${code}): let the user who runs Provec read it`;
    throw new ConfigError(`PROVEC_SECRET_FILE must be the file of the installation's secret, ${what}.`, {
      cause: error,
    });
  }
}

/**
 * Creates the secret; returns false if it exists. If several processes start at once, one
 * creates it, and none reads an incomplete file.
 */
async function makeSecret(file: string): Promise<boolean> {
  const draft = `${file}.${randomUUID()}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(`${randomBytes(SECRET_BYTES).toString('base64url')}\n`);
    await handle.sync();
    await link(draft, file);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await handle.close();
    await unlink(draft);
  }
  const folder = await open(dirname(file), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
  return true;
}
