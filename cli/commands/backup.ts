import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import type { Api, ProvecOperator } from '../../client/index.ts';
import { EXIT } from '../exit-code.ts';
import { examples } from '../option-values.ts';
import { bytesText } from '../output/quantities.ts';
import { tableLines } from '../output/table.ts';
import { firstRows, noteMore, type PagingOptions, withPaging } from '../paging.ts';
import { inSession, type Session } from '../session.ts';

const POLL_MS = 500;

interface StartOptions {
  withoutSecrets?: boolean;
  wait: boolean;
}

export const backupCommand = (): Command =>
  new Command('backup')
    .description("copy the service's data to its folder for backups (PROVEC_BACKUP_DIR)")
    .addCommand(startCommand())
    .addCommand(listCommand())
    .addHelpText('after', examples('provec backup start monday', 'provec backup list'));

const startCommand = (): Command =>
  new Command('start')
    .description('make a backup while the service runs; exits with 1 if it fails')
    .argument('[name]', 'name of its folder; the time by default')
    .option('--without-secrets', 'leave out the keypair and the secret')
    .option('--no-wait', 'do not wait until it is complete')
    .addHelpText('after', examples('provec backup start monday', 'provec backup start --without-secrets'))
    .action(
      inSession(async (session, name: string | undefined, { withoutSecrets = false, wait }: StartOptions) => {
        const operator = await session.operator();
        const body = { ...(name !== undefined && { name }), withoutSecrets };
        const started = await operator.startBackup(body, session.request);
        const backup = wait ? await ended(session, operator, started) : started;
        await session.print({ backup }, () => [describe(backup)]);
        return backup.state === 'failed' || backup.state === 'interrupted' ? EXIT.negative : EXIT.done;
      }),
    );

const listCommand = (): Command =>
  withPaging(new Command('list').description('list the backups, by name, the last one first'), 'backups')
    .addHelpText('after', examples('provec backup list', 'provec backup list --json'))
    .action(
      inSession(async (session, paging: PagingOptions) => {
        const listing = (await session.operator()).listBackups({}, session.request);
        const { rows: backups, hasMore } = await firstRows(listing, (page) => page.backups, paging);
        await session.print({ backups, hasMore }, () =>
          tableLines(
            ['name', 'state', 'size', 'complete at', 'folder'],
            backups.map((row) => [row.name, row.error ?? row.state, bytesText(row.bytes), row.at, row.folder]),
          ),
        );
        await noteMore(session, hasMore, 'backups');
      }),
    );

/** Waits until a backup has ended. */
async function ended(session: Session, operator: ProvecOperator, started: Api.Backup): Promise<Api.Backup> {
  for (let backup = started; ; ) {
    if (backup.state !== 'running') return backup;
    await delay(POLL_MS, undefined, session.request);
    for await (const row of operator.listBackups({}, session.request))
      if (row.name === started.name) {
        backup = row;
        break;
      }
  }
}

function describe({ name, folder, state, bytes, error }: Api.Backup): string {
  if (state === 'done')
    return `The backup ${name} is complete: ${bytesText(bytes)} in ${folder} on the service's machine.`;
  if (state === 'running') return `The backup ${name} is being written to ${folder} on the service's machine.`;
  return `The backup ${name} ${state === 'failed' ? `failed: ${error}` : 'was interrupted'}.`;
}
