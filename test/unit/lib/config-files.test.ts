import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ConfigError, namesOf, readConfig, VARIABLES } from '../../../process/config.ts';

/**
 * For each variable that may be read from a file: its name, its config field, a valid value and an
 * invalid one.
 */
const VALUES = [
  ['PROVEC_MONGO_URL', 'mongoUrl', 'mongodb://u:hunter2@mongo/provec', 'http://u:hunter2@mongo'],
  ['PROVEC_REDIS_URL', 'redisUrl', 'redis://:hunter2@redis:6379', 'http://:hunter2@redis'],
  ['PROVEC_BOOTSTRAP_KEY', 'bootstrapKey', 'hunter2-hunter2-hunter2', 'hunter2'],
  ['PROVEC_ADMIN_TOKEN', 'adminToken', 'hunter2-hunter2-hunter2', 'hunter2 hunter2 hunter2'],
  ['PROVEC_SOLANA_RPC_URLS', 'solanaRpcUrls', 'https://rpc.example/hunter2', 'wss://rpc.example/hunter2'],
  ['PROVEC_EMBEDDINGS_KEY', 'embeddingsKey', 'sk-hunter2', 'sk hunter2'],
] as const;

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-config-'));
  path = join(folder, 'value');
});
afterEach(() => rm(folder, { recursive: true }));

/** Error message of a refused configuration. */
function refusal(environment: Record<string, string>): string {
  let message = '';
  expect(() => {
    try {
      readConfig(environment);
    } catch (error) {
      if (error instanceof Error) message = error.message;
      throw error;
    }
  }).toThrow(ConfigError);
  expect(message).not.toContain('hunter2');
  expect(message).not.toContain('\n');
  return message;
}

test('only secrets may be given as a file', () => {
  const names = Object.values(VARIABLES).flatMap((variable) => namesOf(variable).slice(1));
  expect(names).toEqual(VALUES.map(([name]) => `${name}_FILE`));
  expect(refusal({ PROVEC_LEDGER_FILE: path })).toMatch(/^PROVEC_LEDGER_FILE is not a Provec variable; /);
});

describe.each(VALUES)('the file of %s', (name, field, value, bad) => {
  const file = `${name}_FILE`;

  test('holds the value, with or without white space around it', async () => {
    for (const text of [value, `\n ${value}\r\n`]) {
      await writeFile(path, text);
      const config = readConfig({ [file]: ` ${relative(process.cwd(), path)}`, [name]: ' ' });
      expect(config).toEqual({ ...readConfig({ [name]: value }), files: { [name]: path } });
      expect([config[field]].flat()).toEqual([value]);
    }
  });

  test('is refused if the variable is also set', async () => {
    await writeFile(path, value);
    expect(refusal({ [file]: path, [name]: value })).toBe(`Only one of ${name} and ${file} can be set.`);
    expect(readConfig({ [file]: ' ', [name]: value }).files).toEqual({});
  });

  test('is refused, and named, if it has an invalid value', async () => {
    await writeFile(path, bad);
    expect(refusal({ [file]: path })).toMatch(new RegExp(`^${file} must be a file with .+: ${path}\\.$`));
  });

  test('is refused, and named, if it is empty or unreadable', async () => {
    const begin = `${file} must be a file with the value, but`;
    expect(refusal({ [file]: path })).toBe(`${begin} it does not exist: ${path}.`);
    await writeFile(path, ' \n');
    expect(refusal({ [file]: path })).toBe(`${begin} it is empty: ${path}.`);
    await mkdir(join(folder, 'a folder'));
    expect(refusal({ [file]: join(folder, 'a folder') })).toBe(
      `${begin} Provec cannot read it (EISDIR): ${join(folder, 'a folder')}.`,
    );
    // Root can read every file.
    if (process.getuid?.() === 0) return;
    await chmod(path, 0);
    expect(refusal({ [file]: path })).toBe(`${begin} Provec cannot read it (EACCES): ${path}.`);
  });
});
