import { expect, test } from '@jest/globals';
import { helpOf, helpText } from '../../../repl/operator-commands.ts';

test.each([
  [['backup', '--help'], 'Usage: provec backup <folder> [--without-secrets]'],
  [['backup', '/a/folder', '-h'], 'Usage: provec backup <folder> [--without-secrets]'],
  [['move', '--help'], 'Usage: provec move <shard> <node>'],
  [['nodes', '--help'], 'Usage: provec nodes'],
  [['anchors', '--help'], 'Usage: provec anchors [due|halted] [--offset <rows>] [--limit <rows>]'],
])('%j asks for the usage of one command', (argv, usage) => {
  const [first, meaning] = helpOf(argv)!.split('\n');
  expect(first).toBe(usage);
  expect(helpText()).toContain(meaning);
});

test.each([[[]], [['help']], [['--help']], [['-h']]])('%j asks for the list of commands', (argv) => {
  expect(helpOf(argv)).toBe(helpText());
});

test.each([[['backup', '/a/folder']], [['unknown', '--help']]])('%j asks for no help', (argv) => {
  expect(helpOf(argv)).toBeNull();
});
