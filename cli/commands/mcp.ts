import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { warnOfPlainHttp } from '../client.ts';
import { commandSignal } from '../interruption.ts';
import { Bridge } from '../mcp/bridge.ts';
import { examples } from '../option-values.ts';
import { write, writeError } from '../output/streams.ts';
import { inSession } from '../session.ts';
import { API_KEY, connectionOf } from '../settings.ts';

export const mcpCommand = (): Command =>
  new Command('mcp')
    .description('connect an agent on stdin and stdout to the service (MCP)')
    .option('--collection <name>', 'collection for calls that name none')
    .addHelpText('after', examples('provec mcp --collection notes'))
    .action(
      inSession(async ({ options }, { collection }: { collection?: string }) => {
        const connection = await connectionOf(options, API_KEY);
        warnOfPlainHttp(connection.url, API_KEY);
        const note = (sentence: string) => void writeError(sentence);
        const bridge = new Bridge({ ...connection, collection, send: write, note });
        await bridge.run(createInterface({ input: process.stdin, signal: commandSignal }));
        commandSignal.throwIfAborted();
      }),
    );
