import { Argument, Command } from 'commander';
import type { Api } from '../../client/index.ts';
import { examples } from '../option-values.ts';
import { timeText } from '../output/quantities.ts';
import { tableLines } from '../output/table.ts';
import { firstRows, noteMore, type PagingOptions, withPaging } from '../paging.ts';
import { inSession } from '../session.ts';

const COLUMNS = ['collection', 'id', 'state', 'wanted', 'confirmed', 'waiting', 'anchored', 'halted because'];

export const anchorsCommand = (): Command =>
  withPaging(
    new Command('anchors')
      .description('list which roots are on the ledger, what waits and for how long, and what is halted')
      .addArgument(new Argument('[state]', 'only anchors in this state').choices(['pending', 'halted'])),
    'anchors',
  )
    .addHelpText('after', examples('provec anchors', 'provec anchors halted'))
    .action(
      inSession(async (session, state: 'pending' | 'halted' | undefined, paging: PagingOptions) => {
        const listing = (await session.operator()).listAnchors(state === undefined ? {} : { state }, session.request);
        const { rows: anchors, hasMore } = await firstRows(listing, (page) => page.anchors, paging);
        await session.print({ anchors, hasMore }, () => tableLines(COLUMNS, anchors.map(anchorRow)));
        await noteMore(session, hasMore, 'anchors');
      }),
    );

const anchorRow = (row: Api.AnchorOverview): unknown[] => [
  ...[row.collection ?? '(deleted)', row.collectionId, row.state, row.wantedVersion, row.confirmedVersion],
  ...[timeText(row.waitingSeconds), row.confirmedAgeSeconds === null ? '' : `${timeText(row.confirmedAgeSeconds)} ago`],
  row.haltedReason,
];
