import { Command } from 'commander';
import type { Api } from '../../client/index.ts';
import { EXIT } from '../exit-code.ts';
import { examples } from '../option-values.ts';
import { writeError } from '../output/streams.ts';
import { tableLines } from '../output/table.ts';
import { firstRows, noteMore, type PagingOptions, withPaging } from '../paging.ts';
import { inSession } from '../session.ts';

const COLUMNS = ['version', 'vectors', 'decisions', 'anchored', 'root', 'transaction'];

export const historyCommand = (): Command =>
  withPaging(
    new Command('history')
      .description('list the roots of a collection that the ledger confirmed, newest first')
      .argument('<collection>', 'its name or an alias'),
    'roots',
  )
    .addHelpText('after', examples('provec history notes', 'provec history notes --all --json'))
    .action(
      inSession(async (session, name: string, paging: PagingOptions) => {
        const listing = (await session.collection(name)).listAnchors({}, session.request);
        const { rows: anchors, hasMore, pages } = await firstRows(listing, (page) => page.anchors, paging);
        const faults = pages.flatMap((page) => page.faults ?? []);
        const dropped = Math.max(0, ...pages.map((page) => page.dropped));
        await session.print({ anchors, faults, dropped, hasMore }, () => tableLines(COLUMNS, anchors.map(anchorRow)));
        for (const { position, fault } of faults) await writeError(`entry ${position}: ${fault}`);
        await noteMore(session, hasMore, 'roots');
        return faults.length === 0 ? EXIT.done : EXIT.negative;
      }),
    );

const anchorRow = (row: Api.Anchor): unknown[] => [
  ...[row.version, row.vectorCount, row.decisions, row.confirmedAt],
  ...[row.merkleRoot, row.ledgerTx],
  ...(row.sealed ? [] : ['(no seal)']),
];
