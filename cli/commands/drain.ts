import { Command } from 'commander';
import { EXIT } from '../exit-code.ts';
import { examples } from '../option-values.ts';
import { inSession } from '../session.ts';

/** Timeout in ms, longer than the service's own. */
const TIMEOUT_MS = 100_000;

export const drainCommand = (): Command =>
  new Command('drain')
    .description('move all shards off a node, which takes none until it restarts')
    .argument('<node>', 'the node, as provec nodes shows it')
    .addHelpText(
      'after',
      `
Exits with 1 while the node still holds shards: run it again.
${examples('provec drain "$NODE"', 'until provec drain "$NODE"; do echo again; done')}`,
    )
    .action(
      inSession(async (session, node: string) => {
        const request = { ...session.request, timeoutMs: TIMEOUT_MS };
        const result = await (await session.operator()).drainNode(node, request);
        const { left } = result;
        const held = left === 0 ? 'no shards' : `${left} shard${left === 1 ? '' : 's'}`;
        await session.print(result, () => [`${result.node} holds ${held}`]);
        return left === 0 ? EXIT.done : EXIT.negative;
      }),
    );
