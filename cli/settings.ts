import { InputError } from '../client/cli/json-file.ts';
import { readText } from './input/read-text.ts';
import { DEFAULT_PROFILE, type Profile, profilePath, readProfile } from './profile.ts';

/** Address of a service that was started without settings. */
export const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Options of every command. */
export interface GlobalOptions {
  url?: string;
  profile?: string;
  json?: boolean;
}

/** Returns the address from the option, the environment or the profile, or else the default. */
export const urlOf = ({ url }: GlobalOptions, profile?: Profile): string =>
  url ?? variable('PROVEC_URL') ?? profile?.url ?? DEFAULT_URL;

export const profileNameOf = ({ profile }: GlobalOptions): string =>
  profile ?? variable('PROVEC_PROFILE') ?? DEFAULT_PROFILE;

/** A kind of secret that a request carries: where it comes from, and what errors call it. */
export interface Credential {
  readonly field: 'apiKey' | 'adminToken';
  readonly variable: string;
  readonly what: string;
  readonly login: string;
}

export const API_KEY: Credential = {
  field: 'apiKey',
  variable: 'PROVEC_KEY',
  what: 'API key',
  login: 'provec login',
};
export const ADMIN_TOKEN: Credential = {
  field: 'adminToken',
  variable: 'PROVEC_ADMIN_TOKEN',
  what: 'admin token',
  login: 'provec login --admin',
};

/** A service, and the secret for it. */
export interface Connection {
  url: string;
  secret: string;
}

/**
 * Returns the service and the secret that a command uses. Reads the profile only if it is needed.
 * Throws if there is no secret, or if a profile's secret would go to another service.
 */
export async function connectionOf(options: GlobalOptions, credential: Credential): Promise<Connection> {
  const name = profileNameOf(options);
  const { field, what, login } = credential;
  const given = await environmentSecret(credential);
  const needsProfile = given === undefined || (options.url ?? variable('PROVEC_URL')) === undefined;
  const profile = needsProfile ? await readProfile(name) : undefined;
  if (needsProfile && profile === undefined && name !== DEFAULT_PROFILE)
    throw new InputError(`${profilePath()} has no profile "${name}". Create it: ${login} --profile "${name}"`);
  const url = urlOf(options, profile);
  if (given !== undefined) return { url, secret: given };
  const secret = profile?.[field];
  if (profile === undefined || secret === undefined)
    throw new InputError(`There is no ${what}. Run ${login}, or set ${credential.variable}.`);
  if (!isSameService(url, profile.url))
    throw new InputError(
      `The ${field === 'apiKey' ? 'key' : what} of the profile "${name}" is for ${profile.url}. To use ${url}, run ${login} --url, or set ${credential.variable}.`,
    );
  return { url, secret };
}

/**
 * Returns the secret from the environment. The admin token may be in a file, as for the service.
 */
async function environmentSecret({ field, variable: name }: Credential): Promise<string | undefined> {
  const path = field === 'adminToken' ? variable(`${name}_FILE`) : undefined;
  return variable(name) ?? (path === undefined ? undefined : (await readText(path)).trim() || undefined);
}

/** Whether two addresses belong to the same service. */
export function isSameService(url: string, other: string): boolean {
  const bare = (text: string) => (URL.canParse(text) ? new URL(text).href.replace(/\/+$/, '') : text);
  return bare(url) === bare(other);
}

/** Returns an environment variable; undefined if it is unset or empty. */
const variable = (name: string): string | undefined => process.env[name] || undefined;
