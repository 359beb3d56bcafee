import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Likeness } from '../support/likeness.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const ROOT = new URL('../../', import.meta.url);
const PAGE = readFileSync(new URL('docs/recipes.md', ROOT), 'utf8');
/** What a reader who stands in the folder of Provec has there. */
const HAD = ['client', 'examples', 'node_modules', 'package.json'];

/** Fenced blocks with a name, by `<language> <name>`; the texts are what the others print. */
const BLOCKS = new Map(
  Array.from(PAGE.matchAll(/^```(\w+ [\w.-]+)\n([\s\S]*?)^```$/gm), ([, name, body]) => [name!, body!]),
);
const STEPS = [...BLOCKS.keys()].filter((name) => name.startsWith('text ')).map((name) => name.slice('text '.length));
const PROGRAMS = {
  sh: ['bash', '-c'],
  python: ['python3', '-c'],
  js: [process.execPath, '--input-type=module', '-e'],
} as const;
type Language = keyof typeof PROGRAMS;
const LANGUAGES = Object.keys(PROGRAMS) as Language[];

const words = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/[\s,]+/));

test('the page has a step of each language for everything that it says is printed', () => {
  const ofLanguage = LANGUAGES.map((language) => STEPS.filter((step) => BLOCKS.has(`${language} ${step}`)));
  expect(ofLanguage[0]).toEqual(STEPS);
  // The proof is checked by a program, whoever asked for it.
  for (const steps of ofLanguage.slice(1)) expect(steps).toEqual(STEPS.filter((step) => !step.startsWith('prove')));
  expect(STEPS.length).toBeGreaterThanOrEqual(7);
});

describe.each(LANGUAGES)('in %s', (language) => {
  const likeness = new Likeness();
  let service: SharedService;
  let folder: string;
  beforeAll(async () => {
    service = await shareService('anchored');
    folder = mkdtempSync(join(tmpdir(), 'provec-recipes-'));
    for (const name of HAD) symlinkSync(new URL(name, ROOT), join(folder, name));
    writeFileSync(join(folder, 'notes.ndjson'), BLOCKS.get('ndjson notes.ndjson')!);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function run(step: string): SpawnSyncReturns<string> {
    const written = BLOCKS.has(`${language} ${step}`) ? language : 'sh';
    const [program, ...args] = PROGRAMS[written];
    return spawnSync(program, [...args, `${BLOCKS.get(`${written} setup`)}\n${BLOCKS.get(`${written} ${step}`)}`], {
      cwd: folder,
      encoding: 'utf8',
      env: {
        ...process.env,
        PROVEC_URL: service.url,
        PROVEC_KEY: service.key,
        LEDGER: service.ledger!.url,
        AUTHORITY: service.ledger!.authority,
      },
    });
  }

  test.each(STEPS)('%s prints what the page says', (step) => {
    const { status, stdout, stderr } = run(step);
    expect([status, status === 0 ? '' : stderr]).toEqual([0, '']);
    expect([stdout, likeness.differences(words(BLOCKS.get(`text ${step}`)!), words(stdout))]).toEqual([stdout, []]);
  });
});
