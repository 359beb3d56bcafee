import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { collectionsCommand } from './commands/collections.ts';
import { completionCommand } from './commands/completion.ts';
import { countCommand } from './commands/count.ts';
import { deleteCommand } from './commands/delete.ts';
import { exportCommand } from './commands/export.ts';
import { getCommand } from './commands/get.ts';
import { importCommand } from './commands/import.ts';
import { keysCommand } from './commands/keys.ts';
import { listCommand } from './commands/list.ts';
import { loginCommand } from './commands/login.ts';
import { proveCommand } from './commands/prove.ts';
import { queryCommand } from './commands/query.ts';
import { startCommand } from './commands/start.ts';
import { upsertCommand } from './commands/upsert.ts';
import { usageCommand } from './commands/usage.ts';
import { verifyCommand } from './commands/verify.ts';
import { DEFAULT_URL } from './settings.ts';

const EXIT_CODES = `
Settings: an option, then the environment (PROVEC_URL, PROVEC_API_KEY, PROVEC_PROFILE), then the
profile that provec login wrote, then ${DEFAULT_URL}.

Exit codes:
  0    done
  1    the answer is negative: not verified, not proven, not found
  2    wrong arguments, or input that cannot be used
  3    the service refused the request
  4    no answer, or an error of the service, after all retries
  130  interrupted (143 for SIGTERM)

Results go to stdout, progress, warnings and errors to stderr.
`;

/** In the order of the help. */
const COMMANDS = [
  startCommand,
  loginCommand,
  collectionsCommand,
  upsertCommand,
  queryCommand,
  getCommand,
  listCommand,
  countCommand,
  deleteCommand,
  importCommand,
  exportCommand,
  verifyCommand,
  proveCommand,
  keysCommand,
  usageCommand,
  completionCommand,
];

const PACKAGE = new URL('../package.json', import.meta.url);
const versionOf = (): string => (JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string }).version;

/** Makes the command line. Parsing rejects with a CommanderError or with a command's error. */
export function makeProgram(): Command {
  const program = new Command('provec')
    .description('Provec, the vector database that can prove what it stores')
    .usage('[options] <command>')
    .version(versionOf(), '--version', 'print the version')
    .option('--url <url>', 'address of the service')
    .option('--profile <name>', 'profile with an address and a key')
    .option('--json', 'print JSON: one document, or a record per line')
    .option('--no-color', 'print without colours, as NO_COLOR does')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', EXIT_CODES);
  for (const command of COMMANDS) program.addCommand(command());
  adopt(program);
  return program;
}

/** Makes every command throw its errors, and print its help as the program does. */
function adopt(command: Command): void {
  command.exitOverride().configureOutput({ outputError: () => undefined });
  for (const child of command.commands) {
    child.configureHelp(command.configureHelp());
    adopt(child);
  }
}
