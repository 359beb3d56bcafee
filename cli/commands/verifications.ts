import { Command } from 'commander';
import type { Api } from '../../client/index.ts';
import { examples } from '../option-values.ts';
import { tableLines } from '../output/table.ts';
import { firstRows, noteMore, type PagingOptions, withPaging } from '../paging.ts';
import { inSession } from '../session.ts';
import { unreachableOf, warnOfUnreachable } from '../unreachable.ts';

const COLUMNS = ['collection', 'state', 'scanned', 'of', 'started', 'ended', 'verdict', 'error'];

export const verificationsCommand = (): Command =>
  withPaging(
    new Command('verifications').description('list the background verifications of all accounts, running ones first'),
    'verifications',
  )
    .addHelpText('after', examples('provec verifications', 'provec verifications --all --json'))
    .action(
      inSession(async (session, paging: PagingOptions) => {
        const listing = (await session.operator()).listVerifications({}, session.request);
        const { rows: verifications, hasMore, pages } = await firstRows(listing, (page) => page.verifications, paging);
        const unreachable = unreachableOf(pages);
        await session.print({ verifications, unreachable, hasMore }, () =>
          tableLines(COLUMNS, verifications.map(verificationRow)),
        );
        await warnOfUnreachable(unreachable);
        await noteMore(session, hasMore, 'verifications');
      }),
    );

const verificationRow = (row: Api.VerificationOverview): unknown[] => [
  ...[row.collection, row.state, row.progress.scanned, row.progress.total],
  ...[row.startedAt, row.endedAt, row.verdict, row.error],
];
