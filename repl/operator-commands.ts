import { resolve } from 'node:path';
import { type Caller, call } from '../contracts/actions/call.ts';
import type { RowRange } from '../contracts/actions/cluster.ts';
import { isProvecError } from '../lib/errors.ts';
import { anchorsText, backupText, collectionsText, ledgerText, nodesText, shardsText, verdictText } from './tables.ts';
import { printable } from './text-table.ts';

/** A command with wrong usage; the message is one line. */
export class UsageError extends Error {
  override name = 'UsageError';
}

interface OperatorCommand {
  /** Arguments: `<word>`, or `[word]` if optional. */
  usage: string;
  meaning: string;
  /** Whether it accepts `--offset` and `--limit`. */
  isTable?: true;
  /** A boolean option that it accepts. */
  flag?: string;
  run(caller: Caller, words: readonly string[], slice: RowRange, hasFlag: boolean): Promise<string>;
}

const HELP_FLAGS = ['--help', '-h'];

/** No timeout: the cluster service limits the steps of these actions. */
const NO_TIMEOUT = { timeout: 0 };

/** Commands `provec <name> ...`, in the order of the help text. */
const OPERATOR_COMMANDS: ReadonlyMap<string, OperatorCommand> = new Map(
  Object.entries<OperatorCommand>({
    nodes: {
      usage: '',
      meaning: 'every node: lease, shards, memory, load',
      run: async (caller) => nodesText(await call(caller, 'cluster.nodes', {})),
    },
    shards: {
      usage: '[collection]',
      meaning: 'where shards are, and how far their followers have got',
      isTable: true,
      run: async (caller, [collection], slice) =>
        shardsText(await call(caller, 'cluster.shards', collection === undefined ? slice : { ...slice, collection })),
    },
    collections: {
      usage: '',
      meaning: 'collections of all accounts',
      isTable: true,
      run: async (caller, _, slice) => collectionsText(await call(caller, 'cluster.collections', slice)),
    },
    move: {
      usage: '<shard> <node>',
      meaning: 'gives a shard to another node',
      async run(caller, [shard = '', node = '']) {
        const moved = await call(caller, 'cluster.move', { shard, node }, NO_TIMEOUT);
        return `${moved.shard} is on ${moved.to}${moved.from === null ? '' : `; it was on ${moved.from}`}.`;
      },
    },
    drain: {
      usage: '<node>',
      meaning: 'moves all shards off a node, which takes none until it restarts',
      async run(caller, [node = '']) {
        const { left } = await call(caller, 'cluster.drain', { node }, NO_TIMEOUT);
        return left === 0 ? `${node} no longer holds any shards.` : `${node} still holds ${left} shards.`;
      },
    },
    verify: {
      usage: '<account> <collection>',
      meaning: 'recomputes the root from stored data and compares it with the ledger',
      run: async (caller, [account = '', collection = '']) =>
        verdictText(await call(caller, 'cluster.verify', { account, collection }, NO_TIMEOUT)),
    },
    anchors: {
      usage: '[due|halted]',
      meaning: 'what is on the ledger, and what is waiting',
      isTable: true,
      async run(caller, [standing], slice) {
        if (standing !== undefined && standing !== 'due' && standing !== 'halted')
          throw new UsageError('provec anchors takes due, halted or nothing.');
        return anchorsText(
          await call(caller, 'cluster.anchors', standing === undefined ? slice : { ...slice, standing }),
        );
      },
    },
    ledger: {
      usage: '[collection]',
      meaning: 'where roots are anchored, under which authority, and the account of a collection',
      run: async (caller, [collection]) =>
        ledgerText(await call(caller, 'cluster.ledger', collection === undefined ? {} : { collection })),
    },
    backup: {
      usage: '<folder>',
      meaning: 'copies the data folder as it is at one moment, while it is used (not with MongoDB)',
      flag: '--without-secrets',
      async run(caller, [folder = ''], _, withoutSecrets) {
        // npm runs scripts in the package's folder; INIT_CWD is the user's.
        const target = resolve(process.env.INIT_CWD ?? '.', folder);
        return backupText(await call(caller, 'cluster.backup', { folder: target, withoutSecrets }, NO_TIMEOUT));
      },
    },
    resume: {
      usage: '<collection>',
      meaning: 'accepts what the shards of a halted collection hold as right, and anchors it',
      async run(caller, [collection = '']) {
        const { collectionId } = await call(caller, 'cluster.resume', { collection }, NO_TIMEOUT);
        return `${collectionId} is anchored again.`;
      },
    },
  }),
);

export function helpText(): string {
  const lines = [...OPERATOR_COMMANDS].map(
    ([name, { usage, meaning }]) => `  ${`provec ${name} ${usage}`.padEnd(38)}${meaning}`,
  );
  return [
    ...lines,
    '',
    'Name a collection by its id, as <account>/<name>, or by a name that only one account has; an account by its id or name; a shard as <collection>.<index>.',
    'Tables take --offset <rows> and --limit <rows>; backup takes --without-secrets. provec <command> --help says how one is used.',
  ].join('\n');
}

/**
 * Returns the help that `argv` (the words after `provec`) asks for, about all commands or one
 * (`backup --help`); null if it asks for none.
 */
export function helpOf(argv: readonly string[]): string | null {
  const [name] = argv;
  if (name === undefined || name === 'help' || HELP_FLAGS.includes(name)) return helpText();
  const command = OPERATOR_COMMANDS.get(name);
  if (command === undefined || !argv.some((word) => HELP_FLAGS.includes(word))) return null;
  return `${usageOf(name, command)}\n${command.meaning}`;
}

function usageOf(name: string, { usage, isTable, flag }: OperatorCommand): string {
  const options = isTable ? '[--offset <rows>] [--limit <rows>]' : flag && `[${flag}]`;
  return ['Usage: provec', name, usage, options].filter(Boolean).join(' ');
}

/** Runs a command and returns its output. Throws UsageError, and what the action throws. */
export async function runOperatorCommand(caller: Caller, argv: readonly string[]): Promise<string> {
  const help = helpOf(argv);
  if (help !== null) return help;
  const { words, slice, hasSlice, flags } = readWords(argv);
  const [name = '', ...rest] = words;
  const command = OPERATOR_COMMANDS.get(name);
  if (command === undefined)
    throw new UsageError(
      `Unknown command provec ${printable(name)}; the commands are ${[...OPERATOR_COMMANDS.keys()].join(', ')}.`,
    );
  const { usage, isTable, flag } = command;
  const unknown = flags.find((given) => given !== flag);
  if (unknown !== undefined) throw new UsageError(`Unknown option ${printable(unknown)}.`);
  const expected = usage === '' ? [] : usage.split(' ');
  const isTooShort = expected.some((word, at) => word.startsWith('<') && rest[at] === undefined);
  if (isTooShort || rest.length > expected.length || (hasSlice && !isTable))
    throw new UsageError(usageOf(name, command));
  return command.run(caller, rest, slice, flags.length > 0);
}

interface Words {
  words: string[];
  slice: RowRange;
  hasSlice: boolean;
  /** Options without values. */
  flags: string[];
}

function readWords(argv: readonly string[]): Words {
  const words: string[] = [];
  const flags: string[] = [];
  const slice: RowRange = {};
  const left = [...argv];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    const [, name, attached] = /^--(offset|limit)(?:=(.*))?$/s.exec(word) ?? [];
    if (name === undefined) {
      (word.startsWith('-') ? flags : words).push(word);
      continue;
    }
    const value = attached ?? left.shift() ?? '';
    if (!/^\d{1,9}$/.test(value)) throw new UsageError(`--${name} takes a whole number.`);
    slice[name as keyof RowRange] = Number(value);
  }
  return { words, slice, hasSlice: Object.keys(slice).length > 0, flags };
}

/** Describes an error in one line that an operator can act on. */
export function errorLine(error: unknown): string {
  const text = error instanceof Error ? operatorMessage(error) : String(error);
  return printable(text.replaceAll(/\s*\n\s*/g, ' '));
}

function operatorMessage(error: Error): string {
  if (isProvecError(error) || error instanceof UsageError) return error.message;
  switch (error.name) {
    case 'ServiceNotFoundError':
    case 'ServiceNotAvailableError':
      return 'No node runs the service that this command calls; is services/cluster running?';
    case 'RequestTimeoutError':
      return 'The answer did not come in time.';
    case 'RequestRejectedError':
    case 'BrokerDisconnectedError':
      return 'The node that ran this command has left; try again.';
    default:
      return error.message;
  }
}

/** Returns completions of a line's last word: commands, or shard nodes and choices as arguments. */
export function completionsOf(line: string, shardNodes: readonly string[]): string[] {
  const words = line.split(' ');
  const last = words.length - 1;
  const begun = words[last] ?? '';
  const expected = OPERATOR_COMMANDS.get(words[1] ?? '')?.usage.split(' ')[last - 2];
  const choices = expected?.includes('|') ? expected.slice(1, -1).split('|') : [];
  const ofCommand = expected === '<node>' ? shardNodes : choices;
  const candidates = last === 1 ? [...OPERATOR_COMMANDS.keys(), 'help'] : ofCommand;
  const before = words.slice(0, last).join(' ');
  return candidates.filter((word) => word.startsWith(begun)).map((word) => `${before} ${word}`);
}
