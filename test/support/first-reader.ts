/** Follows the pages for newcomers: runs their blocks in order, against one service. */
import { rm } from 'node:fs/promises';
import { expect } from '@jest/globals';
import { blocksOf, type PageBlock } from './page-blocks.ts';
import type { ReaderTerminal } from './reader-terminal.ts';
import { RecordedResponses } from './recorded-responses.ts';
import { StartedProcess } from './service-process.ts';

/** Languages whose blocks are run. */
export const LANGUAGES = ['sh', 'js', 'ts', 'python'];
export const OUTPUT = 'text';
/** Blocks with this name run before all others of their language. */
export const SETUP = 'setup';

export const titleOf = ({ page, language, name }: PageBlock) => [page, language, name].filter(Boolean).join(' ');
const programOf = (language: string) => (language === 'ts' ? 'js' : language);

/** Returns what a page says that a block prints. */
export const outputOf = ({ page, name }: PageBlock): string | undefined =>
  name === null ? undefined : blocksOf(page).find((block) => block.language === OUTPUT && block.name === name)?.text;

const setupOf = ({ page, language }: PageBlock): PageBlock | undefined =>
  blocksOf(page).find((block) => block.language === language && block.name === SETUP);

/**
 * Blocks that run together: a recipe, a shell block, or neighbouring blocks of another language,
 * which share variables.
 */
export type Step = PageBlock[];

export function stepsOf(page: string): Step[] {
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

export class FirstReader {
  readonly terminal: ReaderTerminal;
  readonly #home: string;
  readonly #likeness = new RecordedResponses();
  #service: StartedProcess | undefined;

  /** Reads in the folders of `terminal`, all of which are in `home`. */
  constructor(home: string, terminal: ReaderTerminal) {
    this.terminal = terminal;
    this.#home = home;
  }

  /** Runs a step. The step named `start` starts the service in another terminal. */
  async follow(step: Step): Promise<void> {
    if (step[0]!.name === 'start') await this.#start(step[0]!);
    else await this.#run(step);
  }

  /** Fills in the values that the service prints. */
  async #start({ text }: PageBlock): Promise<void> {
    const { terminal } = this;
    const environment = { PATH: terminal.path, PROVEC_PORT: '0' };
    const command = `cd ${terminal.folder} && ${terminal.filledIn(text)}`;
    this.#service = new StartedProcess(environment, [], ['bash', '-c', command]);
    terminal.fillIn('http://127.0.0.1:8080', await this.#service.listening());
    terminal.fillIn('pv_live_...', /pv_live_[\w-]{43}/.exec(this.#service.stdout)![0]);
    const [, rpc, authority] = /RPC (\S+), authority (\w+)/.exec(this.#service.stdout)!;
    terminal.fillIn('LEDGER=http://127.0.0.1:...', `LEDGER=${rpc}`);
    terminal.fillIn('AUTHORITY=...', `AUTHORITY=${authority}`);
  }

  async #run(step: Step): Promise<void> {
    const setup = setupOf(step[0]!);
    const texts = step.map(({ text }) => (setup === undefined ? text : `${setup.text}\n${text}`));
    const outputs = await this.terminal.run(programOf(step[0]!.language), texts, { isScript: setup !== undefined });
    for (const [at, block] of step.entries()) {
      const printed = outputOf(block);
      if (printed === undefined) continue;
      const actual = outputs[at]!;
      expect([titleOf(block), actual, this.#likeness.differences(words(printed), words(actual))]).toEqual([
        titleOf(block),
        actual,
        [],
      ]);
    }
  }

  /** Ends the service and removes the folder. */
  async dispose(): Promise<void> {
    this.#service?.dispose();
    await this.#service?.ended;
    await rm(this.#home, { recursive: true, force: true });
  }
}
