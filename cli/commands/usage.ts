import { Command } from 'commander';
import { examples } from '../option-values.ts';
import { fieldLines, tableLines } from '../output/table.ts';
import { inSession } from '../session.ts';

const COUNTS = ['write_count', 'query_count', 'vector_count', 'collection_count', 'key_count'] as const;

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
          ...tableLines(
            ['', 'used', 'limit'],
            COUNTS.map((name) => [name, usage.usage[name], usage.limits[name] ?? 'none']),
          ),
        ]);
      }),
    );
