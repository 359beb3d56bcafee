import { Command } from 'commander';
import type { Api } from '../../client/index.ts';
import { examples } from '../option-values.ts';
import { bytesText } from '../output/quantities.ts';
import { tableLines } from '../output/table.ts';
import { firstRows, noteMore, type PagingOptions, withPaging } from '../paging.ts';
import { inSession } from '../session.ts';
import { unreachableOf, warnOfUnreachable } from '../unreachable.ts';

const COLUMNS = ['shard', 'collection', 'node', 'state', 'epoch', 'seq', 'records', 'memory', 'copies'];

export const shardsCommand = (): Command =>
  withPaging(
    new Command('shards')
      .description('list shards: where they are, and how far their copies have got')
      .argument('[collection]', 'its id, <account>/<name>, or a name that only one account has'),
    'shards',
  )
    .addHelpText('after', examples('provec shards', 'provec shards "$ACCOUNT/notes" --all'))
    .action(
      inSession(async (session, collection: string | undefined, paging: PagingOptions) => {
        const query = collection === undefined ? {} : { collection };
        const listing = (await session.operator()).listShards(query, session.request);
        const { rows: shards, hasMore, pages } = await firstRows(listing, (page) => page.shards, paging);
        const unreachable = unreachableOf(pages);
        await session.print({ shards, unreachable, hasMore }, () => tableLines(COLUMNS, shards.map(shardRow)));
        await warnOfUnreachable(unreachable);
        await noteMore(session, hasMore, 'shards');
      }),
    );

const shardRow = ({ followers, bytes, ...row }: Api.Shard): unknown[] => [
  ...[row.shard, row.collection, row.node, row.state, row.epoch, row.seq, row.records, bytesText(bytes)],
  followers.map(({ node, lag }) => `${node} (${lag === null ? 'copying' : `${lag} behind`})`).join(', '),
];
