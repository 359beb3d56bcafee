import { createReadStream } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import { InputError } from '../../client/cli/json-file.ts';
import { commandSignal } from '../interruption.ts';
import { writeError } from '../output/streams.ts';
import { exactJson } from './exact-json.ts';

/** Names stdin in place of a file. */
export const STDIN = '-';
/** Maximum size in bytes of input that is read as a whole. */
const TEXT_MAX_BYTES = 256 * 1024 * 1024;

/** Returns how errors name an input. */
export const inputName = (path: string): string => (path === STDIN ? 'stdin' : path);

/** Opens a file, from a byte on, or stdin. The stream ends when the user interrupts the command. */
export function openInput(path: string, start = 0): Readable {
  if (path === STDIN && process.stdin.isTTY) void writeError('reading from the terminal; Ctrl-D ends the input');
  return addAbortSignal(commandSignal, path === STDIN ? process.stdin : createReadStream(path, { start }));
}

/** Reads a file or stdin as UTF-8. */
export async function readText(path: string): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const parts: string[] = [];
  let bytes = 0;
  const decoded = (chunk?: Uint8Array): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      throw new InputError(`${inputName(path)} is not UTF-8.`);
    }
  };
  for await (const chunk of openInput(path) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > TEXT_MAX_BYTES)
      throw new InputError(
        `${inputName(path)} has more than ${TEXT_MAX_BYTES} bytes. Use provec import for large files.`,
      );
    parts.push(decoded(chunk));
  }
  return parts.join('') + decoded();
}

/**
 * Reads the JSON of an option: the text itself, `-` for stdin, or `@` and a file. `option` names it
 * in errors.
 */
export async function readJsonOption(given: string, option: string): Promise<unknown> {
  const isFile = given === STDIN || given.startsWith('@');
  const path = given.replace(/^@/, '');
  const text = isFile ? await readText(path) : given;
  const source = isFile ? `${option} ${inputName(path)}` : option;
  try {
    return exactJson(text);
  } catch (error) {
    throw new InputError(`${source} is not JSON: ${(error as Error).message}`);
  }
}

/** Reads the JSON object of an option. */
export async function readObjectOption<T extends object>(given: string, option: string): Promise<T> {
  const value = await readJsonOption(given, option);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InputError(`${option} must be a JSON object.`);
  return value as T;
}
