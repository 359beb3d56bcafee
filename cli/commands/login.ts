import { Command } from 'commander';
import { InputError } from '../../client/cli/json-file.ts';
import { ForbiddenError } from '../../client/http/errors.ts';
import { clientOf, operatorOf } from '../client.ts';
import { readSecret } from '../input/secret.ts';
import { examples } from '../option-values.ts';
import { readProfile, writeProfile } from '../profile.ts';
import { inSession, type Session } from '../session.ts';
import { ADMIN_TOKEN, API_KEY, type Connection, isSameService, profileNameOf, urlOf } from '../settings.ts';

export const loginCommand = (): Command =>
  new Command('login')
    .description('store the address of a service and an API key as a profile')
    .option('--admin', "store the operator's admin token instead, beside the profile's key")
    .addHelpText(
      'after',
      `
Reads the key from stdin, or asks for it on a terminal, and checks it with the service.
${examples(
  'printenv PROVEC_KEY | provec login',
  'printenv PROVEC_KEY | provec login --url "$PROVEC_URL" --profile laptop',
  'printenv PROVEC_ADMIN_TOKEN | provec login --admin',
)}`,
    )
    .action(
      inSession(async (session, { admin }: { admin?: true }) => {
        const { field, what } = admin ? ADMIN_TOKEN : API_KEY;
        const name = profileNameOf(session.options);
        const known = await readProfile(name);
        const url = urlOf(session.options, known);
        const secret = await readSecret(`${what} for ${url}: `);
        if (secret === '') throw new InputError(`There is no ${admin ? what : 'key'} on stdin.`);
        await (admin ? checkToken : checkKey)(session, { url, secret });
        // A profile's secrets belong to one service.
        const kept = known !== undefined && isSameService(url, known.url) ? known : {};
        const path = await writeProfile(name, { ...kept, url, [field]: secret });
        await session.print({ profile: name, url, path }, () => [`stored the profile "${name}" for ${url} in ${path}`]);
      }),
    );

/** Rejects unless the service accepts the key. A key without the scope `read` is accepted too. */
async function checkKey({ request }: Session, connection: Connection): Promise<void> {
  try {
    await clientOf(connection).getUsage(request);
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
  }
}

/** Rejects unless the service accepts the admin token. */
async function checkToken({ request }: Session, connection: Connection): Promise<void> {
  await operatorOf(connection).listAccounts({ limit: 1 }, request).page();
}
