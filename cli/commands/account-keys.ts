import { Command } from 'commander';
import { type NewKeyOptions, newKey, withKeyOptions } from '../new-key.ts';
import { examples } from '../option-values.ts';
import { keyLines, newKeyLines } from '../output/key-lines.ts';
import { firstRows, noteMore, type PagingOptions, withPaging } from '../paging.ts';
import { inSession } from '../session.ts';

const ACCOUNT = ['<account>', "the account's id"] as const;

export const accountKeysCommand = (): Command =>
  new Command('keys')
    .description("list, create and revoke an account's API keys, for example to replace a lost one")
    .addCommand(listCommand())
    .addCommand(createCommand())
    .addCommand(revokeCommand())
    .addHelpText('after', examples('provec accounts keys list "$ACCOUNT"'));

const listCommand = (): Command =>
  withPaging(
    new Command('list').description("list an account's keys, newest first, without their secrets").argument(...ACCOUNT),
    'keys',
  )
    .addHelpText('after', examples('provec accounts keys list "$ACCOUNT"'))
    .action(
      inSession(async (session, account: string, paging: PagingOptions) => {
        const listing = (await session.operator()).listKeys(account, {}, session.request);
        const { rows: keys, hasMore } = await firstRows(listing, (page) => page.keys, paging);
        await session.print({ keys, hasMore }, () => keyLines(keys));
        await noteMore(session, hasMore, 'keys');
      }),
    );

const createCommand = (): Command =>
  withKeyOptions(
    new Command('create')
      .description('create a key of an account and print it; its secret is shown only this once')
      .argument(...ACCOUNT)
      .argument('<name>', 'its name, for people'),
  )
    .addHelpText('after', examples('provec accounts keys create "$ACCOUNT" replacement --scope read'))
    .action(
      inSession(async (session, account: string, name: string, options: NewKeyOptions) => {
        const key = await (await session.operator()).createKey(account, newKey(name, options), session.request);
        await session.print({ key }, () => newKeyLines(key));
      }),
    );

const revokeCommand = (): Command =>
  new Command('revoke')
    .description("revoke an account's key, which stops working at once")
    .argument(...ACCOUNT)
    .argument('<key>', 'its id, as provec accounts keys list shows it')
    .addHelpText('after', examples('provec accounts keys revoke "$ACCOUNT" "$KEY"'))
    .action(
      inSession(async (session, account: string, key: string) => {
        await (await session.operator()).revokeKey(account, key, session.request);
        await session.print({ revoked: true }, () => [`revoked ${key}`]);
      }),
    );
