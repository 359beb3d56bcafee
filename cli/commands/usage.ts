import { Command } from 'commander';
import { examples } from '../option-values.ts';
import { fieldLines } from '../output/table.ts';
import { usageLines } from '../output/usage-lines.ts';
import { inSession } from '../session.ts';

export const usageCommand = (): Command =>
  new Command('usage')
    .description("show this month's usage and the plan's limits")
    .addHelpText('after', examples('provec usage'))
    .action(
      inSession(async (session) => {
        const usage = await (await session.client()).getUsage(session.request);
        await session.print(usage, () => [
          ...fieldLines({ plan: usage.plan, month: usage.month, resets_at: usage.resets_at }),
          '',
          ...usageLines(usage),
        ]);
      }),
    );
