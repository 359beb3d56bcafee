import { Command } from 'commander';
import { InputError } from '../../client/cli/json-file.ts';
import { ForbiddenError } from '../../client/http/errors.ts';
import { clientOf } from '../client.ts';
import { readSecret } from '../input/secret.ts';
import { examples } from '../option-values.ts';
import { readProfile, writeProfile } from '../profile.ts';
import { inSession, type Session } from '../session.ts';
import { profileNameOf, urlOf } from '../settings.ts';

export const loginCommand = (): Command =>
  new Command('login')
    .description('store the address of a service and an API key as a profile')
    .addHelpText(
      'after',
      `
Reads the key from stdin, or asks for it on a terminal, and checks it with the service.
${examples('printenv PROVEC_KEY | provec login', 'printenv PROVEC_KEY | provec login --url "$PROVEC_URL" --profile laptop')}`,
    )
    .action(
      inSession(async (session) => {
        const name = profileNameOf(session.options);
        const url = urlOf(session.options, await readProfile(name));
        const apiKey = await readSecret(`API key for ${url}: `);
        if (apiKey === '') throw new InputError('There is no key on stdin.');
        await checkKey(session, url, apiKey);
        const path = await writeProfile(name, { url, apiKey });
        await session.print({ profile: name, url, path }, () => [`stored the profile "${name}" for ${url} in ${path}`]);
      }),
    );

/** Rejects unless the service accepts the key. A key without the scope `read` is accepted too. */
async function checkKey({ request }: Session, url: string, apiKey: string): Promise<void> {
  try {
    await clientOf({ url, apiKey }).getUsage(request);
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
  }
}
