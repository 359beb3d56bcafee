import { Command } from 'commander';
import { examples } from '../option-values.ts';
import { inSession } from '../session.ts';

/** Timeout in ms, longer than the service's own. */
const TIMEOUT_MS = 250_000;

export const moveCommand = (): Command =>
  new Command('move')
    .description('give a shard to another node; no request fails')
    .argument('<shard>', '<collection>.<index>, as provec shards shows it')
    .argument('<node>', 'the node, as provec nodes shows it')
    .addHelpText('after', examples('provec move "$ACCOUNT/notes.0" "$NODE"'))
    .action(
      inSession(async (session, shard: string, node: string) => {
        const request = { ...session.request, timeoutMs: TIMEOUT_MS };
        const result = await (await session.operator()).moveShard(shard, { node }, request);
        const { previousNode } = result;
        const before = previousNode === null || previousNode === result.node ? '' : `, before on ${previousNode}`;
        await session.print(result, () => [`${result.shard} is on ${result.node}${before}`]);
      }),
    );
