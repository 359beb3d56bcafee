import type { Command } from 'commander';

const EXAMPLE = /^ {2}\$ (.*)$/gm;

/** Returns the help of a command. */
export function helpOf(command: Command): string {
  let text = '';
  const writeOut = (part: string) => {
    text += part;
  };
  command.configureOutput({ writeOut }).outputHelp();
  return text;
}

/** Returns a command, its commands, theirs, and so forth. */
export const withChildren = (command: Command): Command[] => [command, ...command.commands.flatMap(withChildren)];

/** Returns the examples in the help of a command and of its commands, or of some, each once. */
export function examplesOf(command: Command, isWanted: (command: Command) => boolean = () => true): string[] {
  const wanted = withChildren(command).filter(isWanted);
  const lines = wanted.flatMap((each) => Array.from(helpOf(each).matchAll(EXAMPLE), ([, line]) => line));
  return [...new Set(lines)];
}
