import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { commandSignal, interrupt } from '../interruption.ts';
import { readText, STDIN } from './read-text.ts';

/** Reads a secret from stdin, or from the terminal without showing what is typed. */
export async function readSecret(prompt: string): Promise<string> {
  if (!process.stdin.isTTY) return (await readText(STDIN)).trim();
  // readline echoes what is typed to its output.
  const mute = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: mute, terminal: true });
  terminal.on('SIGINT', () => interrupt('SIGINT'));
  process.stderr.write(prompt);
  try {
    return (await terminal.question('', { signal: commandSignal })).trim();
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
