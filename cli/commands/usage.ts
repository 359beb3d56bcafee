import { Command } from 'commander';
import { examples, wholeNumber } from '../option-values.ts';
import { fieldLines, tableLines } from '../output/table.ts';
import { usageLines } from '../output/usage-lines.ts';
import { inSession } from '../session.ts';

export const usageCommand = (): Command =>
  new Command('usage')
    .description("show this month's usage and the plan's limits")
    .option('--days <n>', 'show the usage of each of the last days instead', wholeNumber)
    .addHelpText('after', examples('provec usage', 'provec usage --days 7'))
    .action(
      inSession(async (session, { days }: { days?: number }) => {
        const client = await session.client();
        if (days !== undefined) {
          const daily = await client.getDailyUsage({ days }, session.request);
          const rows = daily.map((day) => [day.day, day.write_count, day.query_count]);
          return session.print({ days: daily }, () => tableLines(['day', 'writes', 'queries'], rows));
        }
        const usage = await client.getUsage(session.request);
        await session.print(usage, () => [
          ...fieldLines({ plan: usage.plan, month: usage.month, resets_at: usage.resets_at }),
          '',
          ...usageLines(usage),
        ]);
      }),
    );
