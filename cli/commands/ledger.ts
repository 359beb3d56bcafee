import { Command } from 'commander';
import type { Api } from '../../client/index.ts';
import { examples } from '../option-values.ts';
import { fieldLines } from '../output/table.ts';
import { inSession } from '../session.ts';

export const ledgerCommand = (): Command =>
  new Command('ledger')
    .description('show where roots are anchored: nodes of the ledger, program and authority')
    .argument('[collection]', 'show its account too; its id, <account>/<name>, or a name that only one account has')
    .addHelpText('after', examples('provec ledger', 'provec ledger "$ACCOUNT/notes"'))
    .action(
      inSession(async (session, collection: string | undefined) => {
        const query = collection === undefined ? {} : { collection };
        const ledger = await (await session.operator()).getLedger(query, session.request);
        await session.print(ledger, () => ledgerLines(ledger));
      }),
    );

function ledgerLines({ enabled, isEmbedded, cluster, rpc, program, authority, account }: Api.Ledger): string[] {
  if (!enabled) return ['The ledger is off (PROVEC_LEDGER=off): roots are not anchored.'];
  return fieldLines({
    ledger: isEmbedded ? 'Solana, embedded' : `Solana, ${cluster}`,
    rpc: rpc.join(', '),
    program,
    authority,
    collection: account?.collectionId,
    account: account?.address,
    explorer: account?.explorerUrl,
  });
}
