/** The folder that `provec init` creates (docs/configuration.md describes the settings). */
import { randomBytes } from 'node:crypto';
import { lstat, mkdir, open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { InputError } from '../client/cli/json-file.ts';

const SECRET_BYTES = 32;
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
/** Characters that shells, systemd and Docker interpret differently in a settings file. */
const UNSAFE = /[\s'"\\$`#]/;

/** Paths of what was created. */
export interface Installation {
  dataDir: string;
  secretFile: string;
  adminTokenFile: string;
  envFile: string;
}

/**
 * Creates a data folder, a secret, an admin token and a settings file that names them. Throws
 * InputError, creating nothing, if one of them exists.
 */
export async function createInstallation(folder: string): Promise<Installation> {
  const root = resolve(folder);
  if (UNSAFE.test(root))
    throw new InputError(`${root} has a space, a quote, or another character that files of settings cannot hold.`);
  const installation = {
    dataDir: join(root, 'data'),
    secretFile: join(root, 'secret'),
    adminTokenFile: join(root, 'admin-token'),
    envFile: join(root, 'provec.env'),
  };
  for (const path of Object.values(installation)) await assertAbsent(path);
  const { dataDir, secretFile, adminTokenFile, envFile } = installation;
  await mkdir(root, { recursive: true, mode: FOLDER_MODE });
  await mkdir(dataDir, { mode: FOLDER_MODE });
  await createFile(secretFile, `${randomBytes(SECRET_BYTES).toString('base64url')}\n`);
  await createFile(adminTokenFile, `${randomBytes(SECRET_BYTES).toString('base64url')}\n`);
  await createFile(envFile, settingsText(installation));
  return installation;
}

const settingsText = ({ dataDir, secretFile, adminTokenFile }: Installation): string => `\
# Settings of Provec; docs/configuration.md lists all of them.
PROVEC_DATA_DIR=${dataDir}
PROVEC_SECRET_FILE=${secretFile}
PROVEC_ADMIN_TOKEN_FILE=${adminTokenFile}
`;

async function assertAbsent(path: string): Promise<void> {
  try {
    await lstat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  throw new InputError(`${path} exists. Nothing was made: name another folder, or move it away.`);
}

/** Creates a file that only its owner can read. Rejects if it exists. */
async function createFile(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', FILE_MODE);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}
