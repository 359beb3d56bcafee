import { Command, Option } from 'commander';
import type { Api } from '../../client/index.ts';
import { collected, examples } from '../option-values.ts';
import { fieldLines, tableLines } from '../output/table.ts';
import { inSession } from '../session.ts';

const COLUMNS = ['id', 'name', 'key_prefix', 'scopes', 'created_at', 'expires_at', 'last_used_at'] as const;

export const keysCommand = (): Command =>
  new Command('keys')
    .description('list, create and revoke API keys')
    .addCommand(listCommand())
    .addCommand(createCommand())
    .addCommand(revokeCommand())
    .addHelpText('after', examples('provec keys list'));

const listCommand = (): Command =>
  new Command('list')
    .description('list the keys, newest first, without their secrets')
    .addHelpText('after', examples('provec keys list'))
    .action(
      inSession(async (session) => {
        const keys = await (await session.client()).listKeys({}, session.request).all();
        await session.print({ keys }, () =>
          tableLines(
            COLUMNS,
            keys.map((key) => COLUMNS.map((name) => (name === 'scopes' ? key.scopes.join() : key[name]))),
          ),
        );
      }),
    );

interface CreateOptions {
  scope?: string[];
  expiresAt?: string;
}

const createCommand = (): Command =>
  new Command('create')
    .description('create a key and print it; its secret is shown only this once')
    .argument('<name>', 'its name, for people')
    .addOption(
      new Option('--scope <scope>', 'read, write or manage; may be given several times; all by default').argParser(
        collected,
      ),
    )
    .option('--expires-at <time>', 'when it expires, in ISO 8601; never by default')
    .addHelpText('after', examples('provec keys create reader --scope read'))
    .action(
      inSession(async (session, name: string, { scope: scopes, expiresAt }: CreateOptions) => {
        const body = { name, ...(scopes && { scopes }), ...(expiresAt !== undefined && { expires_at: expiresAt }) };
        const key = await (await session.client()).createKey(body as Api.CreateKey, session.request);
        const { secret, scopes: granted, ...others } = key;
        await session.print({ key }, () => fieldLines({ secret, scopes: granted.join(), ...others }));
      }),
    );

const revokeCommand = (): Command =>
  new Command('revoke')
    .description('revoke a key')
    .argument('<id>', 'its id, as provec keys list shows it')
    .addHelpText(
      'after',
      examples(
        `id=$(provec keys create temporary --json | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')`,
        'provec keys revoke "$id"',
      ),
    )
    .action(
      inSession(async (session, id: string) => {
        await (await session.client()).revokeKey(id, session.request);
        await session.print({ revoked: true }, () => [`revoked ${id}`]);
      }),
    );
