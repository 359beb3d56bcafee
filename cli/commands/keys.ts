import { Command } from 'commander';
import { type NewKeyOptions, newKey, withKeyOptions } from '../new-key.ts';
import { examples } from '../option-values.ts';
import { keyLines, newKeyLines } from '../output/key-lines.ts';
import { inSession } from '../session.ts';

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
        await session.print({ keys }, () => keyLines(keys));
      }),
    );

const createCommand = (): Command =>
  withKeyOptions(
    new Command('create')
      .description('create a key and print it; its secret is shown only this once')
      .argument('<name>', 'its name, for people'),
  )
    .addHelpText('after', examples('provec keys create reader --scope read'))
    .action(
      inSession(async (session, name: string, options: NewKeyOptions) => {
        const key = await (await session.client()).createKey(newKey(name, options), session.request);
        await session.print({ key }, () => newKeyLines(key));
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
