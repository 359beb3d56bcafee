import { Command } from 'commander';
import type { Api } from '../../client/index.ts';
import { confirm, YES } from '../confirmation.ts';
import { examples } from '../option-values.ts';
import { countedRecords } from '../output/counted.ts';
import { newKeyLines } from '../output/key-lines.ts';
import { bytesText } from '../output/quantities.ts';
import { fieldLines, tableLines } from '../output/table.ts';
import { usageLines } from '../output/usage-lines.ts';
import { firstRows, noteMore, type PagingOptions, withPaging } from '../paging.ts';
import { inSession } from '../session.ts';
import { accountKeysCommand } from './account-keys.ts';

const COLUMNS = ['id', 'name', 'plan', 'created_at'] as const;
const USED = ['vector_count', 'collection_count', 'key_count', 'write_count', 'query_count'] as const;
/** Maximum number of accounts per page when it shows their usage. */
const USAGE_PAGE_MAX = 100;

export const accountsCommand = (): Command =>
  new Command('accounts')
    .description("manage all accounts of the service; needs the operator's admin token")
    .addCommand(listCommand())
    .addCommand(getCommand())
    .addCommand(createCommand())
    .addCommand(setPlanCommand())
    .addCommand(accountKeysCommand())
    .addCommand(collectionsCommand())
    .addCommand(deleteCommand())
    .addHelpText('after', examples('provec accounts list --usage'));

const ACCOUNT = ['<account>', 'its id, as provec accounts list shows it'] as const;

interface ListOptions extends PagingOptions {
  usage?: true;
}

const listCommand = (): Command =>
  withPaging(new Command('list').description('list the accounts, oldest first'), 'accounts')
    .option('--usage', 'show what each of them uses this month')
    .addHelpText('after', examples('provec accounts list', 'provec accounts list --usage --all --json'))
    .action(
      inSession(async (session, { usage, ...paging }: ListOptions) => {
        const { limit = USAGE_PAGE_MAX } = paging;
        const query = usage ? { usage: true, limit: Math.min(limit, USAGE_PAGE_MAX) } : {};
        const listing = (await session.operator()).listAccounts(query, session.request);
        const { rows: accounts, hasMore } = await firstRows(listing, (page) => page.accounts, paging);
        await session.print({ accounts, hasMore }, () =>
          tableLines(usage ? [...COLUMNS, ...USED] : COLUMNS, accounts.map(accountRow)),
        );
        await noteMore(session, hasMore, 'accounts');
      }),
    );

const accountRow = (account: Api.Account): unknown[] => [
  ...COLUMNS.map((name) => account[name]),
  ...USED.map((name) => account.usage?.usage[name]),
];

const getCommand = (): Command =>
  new Command('get')
    .description("show an account, this month's usage, and the limits of its plan")
    .argument(...ACCOUNT)
    .addHelpText('after', examples('provec accounts get "$ACCOUNT"'))
    .action(
      inSession(async (session, id: string) => {
        const account = await (await session.operator()).getAccount(id, session.request);
        await session.print({ account }, () => accountLines(account));
      }),
    );

const createCommand = (): Command =>
  new Command('create')
    .description('create an account and its first key; the secret is shown only this once')
    .argument('<name>', 'its name, for people')
    .requiredOption('--plan <plan>', 'its limits, a plan of provec plans list')
    .addHelpText('after', examples('provec accounts create acme --plan pro'))
    .action(
      inSession(async (session, name: string, { plan }: Api.ChangePlan) => {
        const { account, key } = await (await session.operator()).createAccount({ name, plan }, session.request);
        await session.print({ account, key }, () => [...accountLines(account), '', ...newKeyLines(key)]);
      }),
    );

const setPlanCommand = (): Command =>
  new Command('set-plan')
    .description("change an account's plan")
    .argument(...ACCOUNT)
    .argument('<plan>', 'its new limits, a plan of provec plans list')
    .addHelpText('after', examples('provec accounts set-plan "$ACCOUNT" business'))
    .action(
      inSession(async (session, id: string, plan: Api.ChangePlan['plan']) => {
        const account = await (await session.operator()).changePlan(id, { plan }, session.request);
        await session.print({ account }, () => accountLines(account));
      }),
    );

const accountLines = ({ usage, ...account }: Api.Account): string[] => [
  ...fieldLines({ ...account }),
  ...(usage === undefined ? [] : ['', ...usageLines(usage)]),
];

const collectionsCommand = (): Command =>
  withPaging(new Command('collections').description('list the collections of all accounts'), 'collections')
    .addHelpText('after', examples('provec accounts collections --limit 20'))
    .action(
      inSession(async (session, paging: PagingOptions) => {
        const listing = (await session.operator()).listCollections({}, session.request);
        const { rows: collections, hasMore } = await firstRows(listing, (page) => page.collections, paging);
        await session.print({ collections, hasMore }, () =>
          tableLines(
            ['account', 'name', 'id', 'shards', 'replicas', 'vectors', 'memory', 'anchor'],
            collections.map((each) => [
              ...[each.account, each.name, each.id, each.shards, each.replicas, each.vectors],
              ...[bytesText(each.bytes), each.anchor],
            ]),
          ),
        );
        await noteMore(session, hasMore, 'collections');
      }),
    );

const deleteCommand = (): Command =>
  new Command('delete')
    .description('delete an account with its keys and collections')
    .argument(...ACCOUNT)
    .option(...YES)
    .addHelpText('after', examples('provec accounts delete "$ACCOUNT" --yes'))
    .action(
      inSession(async (session, id: string, { yes }: { yes?: boolean }) => {
        const operator = await session.operator();
        await confirm(async () => {
          const { name, usage } = await operator.getAccount(id, session.request);
          const { collection_count: collections = 0, vector_count: records = 0 } = usage?.usage ?? {};
          const content = `${collections} collection${collections === 1 ? '' : 's'} (${countedRecords(records)})`;
          return `Delete the account ${name} with its keys and ${content}?`;
        }, yes);
        await operator.deleteAccount(id, session.request);
        await session.print({ deleted: true }, () => [`deleted ${id}`]);
      }),
    );
