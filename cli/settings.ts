import { InputError } from '../client/cli/json-file.ts';
import { DEFAULT_PROFILE, type Profile, profilePath, readProfile } from './profile.ts';

/** Address of a service that was started without settings. */
export const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Options of every command. */
export interface GlobalOptions {
  url?: string;
  profile?: string;
  json?: boolean;
}

/** Returns the address: of the option, the environment, the profile, or the default one. */
export const urlOf = ({ url }: GlobalOptions, profile?: Profile): string =>
  url ?? variable('PROVEC_URL') ?? profile?.url ?? DEFAULT_URL;

export const profileNameOf = ({ profile }: GlobalOptions): string =>
  profile ?? variable('PROVEC_PROFILE') ?? DEFAULT_PROFILE;

/**
 * Returns the service and the key that a command uses. Reads the profile only if one of them is
 * missing without it. Throws if there is no key, or if the key of a profile would go to another
 * service.
 */
export async function connectionOf(options: GlobalOptions): Promise<Profile> {
  const name = profileNameOf(options);
  const apiKey = variable('PROVEC_KEY');
  const needsProfile = apiKey === undefined || (options.url ?? variable('PROVEC_URL')) === undefined;
  const profile = needsProfile ? await readProfile(name) : undefined;
  if (needsProfile && profile === undefined && name !== DEFAULT_PROFILE)
    throw new InputError(`${profilePath()} has no profile "${name}". Create it: provec login --profile "${name}"`);
  const url = urlOf(options, profile);
  if (apiKey !== undefined) return { url, apiKey };
  if (profile === undefined) throw new InputError('There is no API key. Run provec login, or set PROVEC_KEY.');
  if (!isSameService(url, profile.url))
    throw new InputError(
      `The key of the profile "${name}" is for ${profile.url}. To use ${url}, run provec login --url, or set PROVEC_KEY.`,
    );
  return { url, apiKey: profile.apiKey };
}

function isSameService(url: string, other: string): boolean {
  const bare = (text: string) => (URL.canParse(text) ? new URL(text).href.replace(/\/+$/, '') : text);
  return bare(url) === bare(other);
}

/** Returns an environment variable; undefined if it is unset or empty. */
const variable = (name: string): string | undefined => process.env[name] || undefined;
