/**
 * A reader's first hour: runs every block of the pages for newcomers, from top to bottom, in a new
 * folder and against one service.
 */
import { mkdir, mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { copyCheckout } from '../support/checkout.ts';
import { FirstReader, LANGUAGES, OUTPUT, outputOf, SETUP, stepsOf, titleOf } from '../support/first-reader.ts';
import { blocksOf, type PageBlock } from '../support/page-blocks.ts';
import { ReaderTerminal } from '../support/reader-terminal.ts';

const PAGES = ['README.md', 'client/README.md', 'python/README.md', 'docs/recipes.md'];
const BLOCKS = PAGES.flatMap(blocksOf);
/** Blocks that cannot run, with the reason. Keep it short. */
const NOT_RUN = {
  'README.md tasks': 'runs the tests and benchmarks of Provec itself',
  'README.md cluster': 'needs Docker and Kubernetes',
};
const INSTALL_TIMEOUT_MS = 600_000;

const DATA = ['ndjson'];

describe('the pages', () => {
  test('mark exactly the known blocks as not to be run', () => {
    expect(BLOCKS.filter(({ isRun }) => !isRun).map(({ page, name }) => `${page} ${name}`)).toEqual(
      Object.keys(NOT_RUN),
    );
  });

  test('have no block in a language that is not run', () => {
    const known = [...LANGUAGES, ...DATA, OUTPUT];
    expect(BLOCKS.filter(({ language }) => !known.includes(language)).map(titleOf)).toEqual([]);
  });

  test('print only what a block prints', () => {
    const runs = BLOCKS.filter(({ isRun, language }) => isRun && LANGUAGES.includes(language));
    const outputs = BLOCKS.filter(({ language }) => language === OUTPUT);
    const isPrinted = ({ page, name }: PageBlock) => runs.some((block) => block.page === page && block.name === name);
    expect(outputs.filter((output) => output.name === null || !isPrinted(output)).map(titleOf)).toEqual([]);
    expect(outputs.length).toBeGreaterThanOrEqual(12);
  });

  test('have each recipe in every language', () => {
    const recipes = (language: string) =>
      blocksOf('docs/recipes.md').flatMap((block) =>
        block.language === language && outputOf(block) !== undefined ? [block.name!] : [],
      );
    // Only the command line checks proofs of others.
    const shell = recipes('sh').filter((name) => !name.startsWith('prove'));
    expect(shell.length).toBeGreaterThanOrEqual(7);
    expect([recipes('js'), recipes('python')]).toEqual([shell, shell]);
  });
});

describe('a reader who follows them', () => {
  let home: string;
  let reader: FirstReader;

  beforeAll(async () => {
    home = await realpath(await mkdtemp(join(tmpdir(), 'provec-first-hour-')));
    const checkout = join(home, 'provec');
    await copyCheckout(checkout);
    await mkdir(join(home, 'app'));
    const terminal = new ReaderTerminal(home, checkout);
    terminal.fillIn('/path/to/provec', checkout);
    reader = new FirstReader(home, terminal);
  });
  afterAll(() => reader.dispose());

  describe.each(PAGES)('%s', (page) => {
    beforeAll(async () => {
      if (page !== PAGES[0]) reader.terminal.folder = join(home, 'app');
      for (const { name, text } of blocksOf(page).filter(({ language }) => DATA.includes(language)))
        await reader.terminal.save(name!, text);
    });

    test.each(stepsOf(page).map((step) => ({ title: step.map(titleOf).join(', '), step })))(
      '$title',
      ({ step }) => reader.follow(step),
      INSTALL_TIMEOUT_MS,
    );
  });

  test.each([
    [`call POST /collections --json '{"name": "restored-sh", "dimensions": 3}' > /dev/null`, 'COLLECTION_EXISTS'],
    ["call GET /collections/absent/export | jq -c 'select(.id)' > absent.ndjson", 'COLLECTION_NOT_FOUND'],
  ])('learns why this fails: %s', async (recipe, code) => {
    const { text } = BLOCKS.find(({ language, name }) => language === 'sh' && name === SETUP)!;
    await expect(reader.terminal.run('sh', [`${text}\n${recipe}`], { isScript: true })).rejects.toThrow(code);
  });
});
