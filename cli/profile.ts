/**
 * The file of profiles: addresses of services, with their API keys and admin tokens. If anyone but
 * its owner can read it, the command refuses to use it.
 */
import { mkdir, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { InputError } from '../client/cli/json-file.ts';
import { replaceFile } from './output/replaced-file.ts';

export interface Profile {
  url: string;
  apiKey?: string;
  adminToken?: string;
}

type Profiles = Record<string, Profile>;

export const DEFAULT_PROFILE = 'default';
export const FILE_MODE = 0o600;
export const FOLDER_MODE = 0o700;
/** Permissions that group and others must not have: any on the file, write on its folder. */
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;

/** Path of the file, by the XDG base directory specification. */
export function profilePath(environment: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CONFIG_HOME: config = '' } = environment;
  // The specification says to ignore a relative path.
  return join(config.startsWith('/') ? config : join(homedir(), '.config'), 'provec', 'config.json');
}

/** Returns a profile; undefined if none has that name. */
export async function readProfile(name: string): Promise<Profile | undefined> {
  const profiles = await readProfiles();
  return Object.hasOwn(profiles, name) ? profiles[name] : undefined;
}

/** Creates or replaces a profile. Returns the path of the file. */
export async function writeProfile(name: string, profile: Profile): Promise<string> {
  const path = profilePath();
  const profiles = new Map(Object.entries(await readProfiles())).set(name, profile);
  await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
  await assertOwnFolder(dirname(path));
  const text = JSON.stringify({ profiles: Object.fromEntries(profiles) }, null, 2);
  await replaceFile(path, `${text}\n`, FILE_MODE);
  return path;
}

async function readProfiles(): Promise<Profiles> {
  const path = profilePath();
  let text: string;
  try {
    await assertOwnFolder(dirname(path));
    await assertOwnFile(path, 'API keys');
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
  return profilesIn(text, path);
}

/** Throws if another user can replace files in the profiles' folder. */
export const assertOwnFolder = (path: string): Promise<void> =>
  assertOwn(path, { forbidden: OTHERS_WRITE, remedy: 'chmod 700', holds: 'API keys' });

/** Throws if another user can read or replace the file. `holds`: what is in it. */
export const assertOwnFile = (path: string, holds: string): Promise<void> =>
  assertOwn(path, { forbidden: OTHERS, remedy: 'chmod 600', holds });

async function assertOwn(
  path: string,
  { forbidden, remedy, holds }: { forbidden: number; remedy: string; holds: string },
): Promise<void> {
  const { mode, uid } = await stat(path);
  // Windows has no such permissions.
  if (process.getuid === undefined) return;
  if (uid !== process.getuid())
    throw new InputError(`${path} belongs to another user. Remove it, or run provec as that user.`);
  if ((mode & forbidden) !== 0)
    throw new InputError(`${path} holds ${holds}, but other users can access it. Run: ${remedy} ${path}`);
}

function profilesIn(text: string, path: string): Profiles {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    // The parser's message would quote the file, and with it a key.
    throw new InputError(`${path} is not JSON. Repair or remove it.`);
  }
  const profiles = (content as { profiles?: unknown } | null)?.profiles;
  const isValid = typeof profiles === 'object' && profiles !== null && Object.values(profiles).every(isProfile);
  if (!isValid) throw new InputError(`${path} holds no profiles. Repair or remove it.`);
  return profiles as Profiles;
}

function isProfile(value: unknown): boolean {
  const { url, apiKey, adminToken } = (value ?? {}) as Record<string, unknown>;
  const secrets = [apiKey, adminToken].filter((secret) => secret !== undefined);
  return typeof url === 'string' && secrets.length > 0 && secrets.every((secret) => typeof secret === 'string');
}
