/**
 * A reader's first hour: runs every block of the pages for newcomers, from top to bottom, in a new
 * folder and against one service.
 */
import { cp, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { blocksOf, type PageBlock } from '../support/page-blocks.ts';
import { ReaderTerminal } from '../support/reader-terminal.ts';
import { RecordedResponses } from '../support/recorded-responses.ts';
import { StartedProcess } from '../support/service-process.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PAGES = ['README.md', 'client/README.md', 'python/README.md', 'docs/recipes.md'];
const BLOCKS = PAGES.flatMap(blocksOf);
/** Blocks that cannot run, with the reason. Keep it short. */
const NOT_RUN = {
  'README.md tasks': 'runs the tests and benchmarks of Provec itself',
  'README.md cluster': 'needs Docker and Kubernetes',
};
const NOT_IN_CHECKOUT = ['.git', 'node_modules', 'data', 'dist', '.venv'];
const INSTALL_TIMEOUT_MS = 600_000;

const LANGUAGES = ['sh', 'js', 'ts', 'python'];
const DATA = ['ndjson'];
const OUTPUT = 'text';
/** Blocks with this name run before all others of their language. */
const SETUP = 'setup';

const titleOf = ({ page, language, name }: PageBlock) => [page, language, name].filter(Boolean).join(' ');
const programOf = (language: string) => (language === 'ts' ? 'js' : language);
const outputOf = ({ page, name }: PageBlock): string | undefined =>
  name === null
    ? undefined
    : BLOCKS.find((block) => block.page === page && block.language === OUTPUT && block.name === name)?.text;
const setupOf = (block: PageBlock): PageBlock | undefined =>
  BLOCKS.find(({ page, language, name }) => page === block.page && language === block.language && name === SETUP);

/**
 * Blocks that run together: a recipe, a shell block, or neighbouring blocks of another language,
 * which share variables.
 */
type Step = PageBlock[];

function stepsOf(page: string): Step[] {
  const steps: Step[] = [];
  let before: PageBlock | undefined;
  for (const block of blocksOf(page)) {
    if (!LANGUAGES.includes(block.language) || !block.isRun || block.name === SETUP) continue;
    const continues =
      before !== undefined && programOf(block.language) === programOf(before.language) && block.language !== 'sh';
    if (continues && setupOf(block) === undefined) steps.at(-1)!.push(block);
    else steps.push([block]);
    before = block;
  }
  return steps;
}

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z/g;

/** Words of each line. Pages break a JSON answer into lines, and times differ in every run. */
function words(text: string): string[][] {
  const lines = text.startsWith('{') ? [text] : text.trim().split('\n');
  return lines.map((line) =>
    line
      .replaceAll(TIME, '<time>')
      .split(/[\s,;:"{}[\]]+/)
      .filter((word) => word !== ''),
  );
}

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
  let terminal: ReaderTerminal;
  let service: StartedProcess | undefined;
  const likeness = new RecordedResponses();

  beforeAll(async () => {
    home = await realpath(await mkdtemp(join(tmpdir(), 'provec-first-hour-')));
    const checkout = join(home, 'provec');
    await cp(ROOT, checkout, {
      recursive: true,
      filter: (path) => !NOT_IN_CHECKOUT.some((name) => path.slice(ROOT.length).split('/').includes(name)),
    });
    await mkdir(join(home, 'app'));
    terminal = new ReaderTerminal(home, checkout);
    terminal.fillIn('/path/to/provec', checkout);
  });
  afterAll(async () => {
    service?.dispose();
    await service?.ended;
    await rm(home, { recursive: true, force: true });
  });

  /** Starts the service in another terminal, and fills in the values that it prints. */
  async function start({ text }: PageBlock): Promise<void> {
    const environment = { PATH: terminal.path, PROVEC_PORT: '0' };
    service = new StartedProcess(environment, [], ['bash', '-c', `cd ${terminal.folder} && ${text}`]);
    terminal.fillIn('http://127.0.0.1:8080', await service.listening());
    terminal.fillIn('pv_live_...', /pv_live_[\w-]{43}/.exec(service.stdout)![0]);
    const [, rpc, authority] = /RPC (\S+), authority (\w+)/.exec(service.stdout)!;
    terminal.fillIn('LEDGER=http://127.0.0.1:...', `LEDGER=${rpc}`);
    terminal.fillIn('AUTHORITY=...', `AUTHORITY=${authority}`);
  }

  async function run(step: Step): Promise<void> {
    const setup = setupOf(step[0]!);
    const texts = step.map(({ text }) => (setup === undefined ? text : `${setup.text}\n${text}`));
    const outputs = await terminal.run(programOf(step[0]!.language), texts, { isScript: setup !== undefined });
    for (const [at, block] of step.entries()) {
      const printed = outputOf(block);
      if (printed === undefined) continue;
      const actual = outputs[at]!;
      expect([titleOf(block), actual, likeness.differences(words(printed), words(actual))]).toEqual([
        titleOf(block),
        actual,
        [],
      ]);
    }
  }

  describe.each(PAGES)('%s', (page) => {
    beforeAll(async () => {
      if (page !== PAGES[0]) terminal.folder = join(home, 'app');
      for (const { name, text } of blocksOf(page).filter(({ language }) => DATA.includes(language)))
        await terminal.save(name!, text);
    });

    test.each(stepsOf(page).map((step) => ({ title: step.map(titleOf).join(', '), step })))(
      '$title',
      ({ step }) => (step[0]!.name === 'start' ? start(step[0]!) : run(step)),
      INSTALL_TIMEOUT_MS,
    );
  });

  test.each([
    [`call POST /collections --json '{"name": "restored-sh", "dimensions": 3}' > /dev/null`, 'COLLECTION_EXISTS'],
    ["call GET /collections/absent/export | jq -c 'select(.id)' > absent.ndjson", 'COLLECTION_NOT_FOUND'],
  ])('learns why this fails: %s', async (recipe, code) => {
    const { text } = BLOCKS.find(({ language, name }) => language === 'sh' && name === SETUP)!;
    await expect(terminal.run('sh', [`${text}\n${recipe}`], { isScript: true })).rejects.toThrow(code);
  });
});
