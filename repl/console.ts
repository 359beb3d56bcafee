import type { REPLServer } from 'node:repl';
import type { ServiceBroker } from 'moleculer';
import startRepl from 'moleculer-repl';
import { completionsOf, errorLine, helpText, runOperatorCommand } from './operator-commands.ts';

/** Moleculer's own exit command would stop only the broker and end the process. */
const EXITS = /^(exit|quit|q)$/;

type Completer = (line: string, done: (error: Error | null, result: [string[], string]) => void) => void;

/** Opens Moleculer's console with the operator commands. Calls `onEnd` when the user leaves it. */
export function openConsole(broker: ServiceBroker, onEnd: () => Promise<void>): void {
  const server = startRepl(broker, {
    delimiter: 'provec $',
    customCommands: [
      {
        command: 'provec [words...]',
        description: `Operator commands:\n${helpText()}`,
        alias: null,
        allowUnknownOptions: true,
        // Passes options and repeated words on as typed.
        parse(command: { args: string[]; params?: { words: string[] } }) {
          command.params = { words: [...command.args] };
        },
        options: [],
        action: async (_: ServiceBroker, params: unknown) => {
          const { words } = params as { words: string[] };
          try {
            console.log(await runOperatorCommand(broker, words));
          } catch (error) {
            console.log(errorLine(error));
          }
        },
      },
    ],
  }) as Omit<REPLServer, 'completer' | 'eval'> & { completer: Completer; eval: REPLServer['eval'] };
  const evaluate = server.eval;
  server.eval = (line, ...rest) => {
    if (EXITS.test(line.trim())) server.close();
    else evaluate.call(server as unknown as REPLServer, line, ...rest);
  };
  const builtIn = server.completer;
  server.completer = (line, done) => {
    if (!line.startsWith('provec ')) builtIn.call(server, line, done);
    else done(null, [completionsOf(line, shardNodesOf(broker)), line]);
  };
  server.removeAllListeners('exit');
  server.on('exit', () => {
    void onEnd().finally(() => process.exit());
  });
}

function shardNodesOf(broker: ServiceBroker): string[] {
  const services = broker.registry.getServiceList({ onlyAvailable: true }) as { name: string; nodeID: string }[];
  return services.flatMap(({ name, nodeID }) => (name === 'shards' ? [nodeID] : []));
}
