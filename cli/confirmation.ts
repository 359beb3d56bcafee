import { createInterface } from 'node:readline/promises';
import { InputError } from '../client/cli/json-file.ts';
import { printable } from '../client/cli/printable.ts';
import { commandSignal, interrupt } from './interruption.ts';

/** Option that confirms a dangerous command. */
export const YES = ['--yes', 'do it without asking'] as const;

/**
 * Asks on the terminal whether to do something that cannot be undone. Throws if the answer is not
 * yes or there is no terminal; scripts must pass --yes.
 */
export async function confirm(question: () => string | Promise<string>, yes: boolean | undefined): Promise<void> {
  if (yes === true) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new InputError('This cannot be undone. Without a terminal, it needs --yes.');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  terminal.on('SIGINT', () => interrupt('SIGINT'));
  try {
    const answer = await terminal.question(`${printable(await question())} [y/N] `, { signal: commandSignal });
    if (!/^y(es)?$/i.test(answer.trim())) throw new InputError('Nothing was done.');
  } finally {
    terminal.close();
  }
}
