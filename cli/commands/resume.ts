import { Command } from 'commander';
import { confirm, YES } from '../confirmation.ts';
import { examples } from '../option-values.ts';
import { inSession } from '../session.ts';

/** Timeout in ms, longer than the service's own. */
const TIMEOUT_MS = 250_000;

export const resumeCommand = (): Command =>
  new Command('resume')
    .description("accept a halted collection's stored data as right, and anchor it")
    .argument('<collection>', 'its id, <account>/<name>, or a name that only one account has')
    .option(...YES)
    .addHelpText('after', examples('provec anchors halted', 'provec resume "$ACCOUNT/notes" --yes'))
    .action(
      inSession(async (session, collection: string, { yes }: { yes?: boolean }) => {
        const operator = await session.operator();
        await confirm(
          () => `Accept what is stored in ${collection} as right, whatever the ledger holds, and anchor it?`,
          yes,
        );
        await operator.resumeAnchoring(collection, { ...session.request, timeoutMs: TIMEOUT_MS });
        await session.print({ resumed: true }, () => [`resumed ${collection}`]);
      }),
    );
