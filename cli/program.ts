import { Command } from 'commander';
import { DEFAULT_URL } from './settings.ts';
import { ownVersion } from './version.ts';

const EXIT_CODES = `
Settings: an option, then the environment (PROVEC_URL, PROVEC_KEY, PROVEC_PROFILE), then the
profile that provec login wrote, then ${DEFAULT_URL}. Commands for operators take the admin token,
from PROVEC_ADMIN_TOKEN or the profile, in place of the key.

Exit codes:
  0    done
  1    the answer is negative: not verified, not proven, not found, a contradiction
  2    wrong arguments, or input that cannot be used
  3    the service, or the source of an import, refused the request
  4    no answer, or an error of the service, after all retries
  130  interrupted (143 for SIGTERM)

Results go to stdout, progress, warnings and errors to stderr.
`;

/**
 * In the order of the help. Each is loaded only when needed, because loading all takes longer than
 * most commands run.
 */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  start: async () => (await import('./commands/start.ts')).startCommand(),
  init: async () => (await import('./commands/init.ts')).initCommand(),
  login: async () => (await import('./commands/login.ts')).loginCommand(),
  collections: async () => (await import('./commands/collections.ts')).collectionsCommand(),
  upsert: async () => (await import('./commands/upsert.ts')).upsertCommand(),
  query: async () => (await import('./commands/query.ts')).queryCommand(),
  get: async () => (await import('./commands/get.ts')).getCommand(),
  list: async () => (await import('./commands/list.ts')).listCommand(),
  count: async () => (await import('./commands/count.ts')).countCommand(),
  delete: async () => (await import('./commands/delete.ts')).deleteCommand(),
  import: async () => (await import('./commands/import.ts')).importCommand(),
  'import-from': async () => (await import('./commands/import-from.ts')).importFromCommand(),
  export: async () => (await import('./commands/export.ts')).exportCommand(),
  verify: async () => (await import('./commands/verify.ts')).verifyCommand(),
  prove: async () => (await import('./commands/prove.ts')).proveCommand(),
  mcp: async () => (await import('./commands/mcp.ts')).mcpCommand(),
  watch: async () => (await import('./commands/watch.ts')).watchCommand(),
  history: async () => (await import('./commands/history.ts')).historyCommand(),
  'audit-links': async () => (await import('./commands/audit-links.ts')).auditLinksCommand(),
  keys: async () => (await import('./commands/keys.ts')).keysCommand(),
  audit: async () => (await import('./commands/audit.ts')).auditCommand(),
  usage: async () => (await import('./commands/usage.ts')).usageCommand(),
  accounts: async () => (await import('./commands/accounts.ts')).accountsCommand(),
  plans: async () => (await import('./commands/plans.ts')).plansCommand(),
  nodes: async () => (await import('./commands/nodes.ts')).nodesCommand(),
  shards: async () => (await import('./commands/shards.ts')).shardsCommand(),
  move: async () => (await import('./commands/move.ts')).moveCommand(),
  drain: async () => (await import('./commands/drain.ts')).drainCommand(),
  anchors: async () => (await import('./commands/anchors.ts')).anchorsCommand(),
  verifications: async () => (await import('./commands/verifications.ts')).verificationsCommand(),
  resume: async () => (await import('./commands/resume.ts')).resumeCommand(),
  backup: async () => (await import('./commands/backup.ts')).backupCommand(),
  restore: async () => (await import('./commands/restore.ts')).restoreCommand(),
  ledger: async () => (await import('./commands/ledger.ts')).ledgerCommand(),
  top: async () => (await import('./commands/top.ts')).topCommand(),
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand(),
  completion: async () => (await import('./commands/completion.ts')).completionCommand(),
};
/** Commands that need the operator's admin token; the help lists them apart. */
const OPERATORS = [
  'accounts',
  'plans',
  'nodes',
  'shards',
  'move',
  'drain',
  'anchors',
  'verifications',
  'resume',
  'backup',
  'restore',
  'ledger',
  'top',
  'doctor',
];
/** Arguments for which the program needs all commands. */
const NEED_ALL = ['help', '--help', '-h', 'completion'];

/**
 * Builds the command line for these arguments, with at least the commands that they name. Parsing
 * rejects with a CommanderError or with a command's error.
 */
export async function makeProgram(args: readonly string[] = []): Promise<Command> {
  const program = new Command('provec')
    .description('Provec, the vector database that can prove what it stores')
    .usage('[options] <command>')
    .version(ownVersion(), '--version', 'print the version')
    .option('--url <url>', 'address of the service')
    .option('--profile <name>', 'profile with an address and a key')
    .option('--json', 'print JSON: one document, or a record per line')
    .option('--no-color', 'print without colours, as NO_COLOR does')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', EXIT_CODES);
  for (const load of commandsFor(args)) {
    const command = await load();
    program.addCommand(OPERATORS.includes(command.name()) ? command.helpGroup('Commands for operators:') : command);
  }
  adopt(program);
  return program;
}

/** Returns the commands that the arguments name, or all. */
function commandsFor(args: readonly string[]): (() => Promise<Command>)[] {
  const named = Object.entries(COMMANDS).filter(([name]) => args.includes(name));
  const isEnough = named.length > 0 && !NEED_ALL.some((name) => args.includes(name));
  return (isEnough ? named : Object.entries(COMMANDS)).map(([, load]) => load);
}

/** Makes every command throw its errors, and print help like the program. */
function adopt(command: Command): void {
  command.exitOverride().configureOutput({ outputError: () => undefined });
  for (const child of command.commands) {
    child.configureHelp(command.configureHelp());
    adopt(child);
  }
}
