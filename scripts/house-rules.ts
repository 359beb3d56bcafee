/**
 * Checks the rules of the house that no linter knows; prints each breach and exits 1 when there is
 * one.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { LONG_SUITES, NOT_IN_GATE } from '../test/suites.ts';

const LINES_MAX = 500;
const PROSE_MAX = 100;
const PROSE = /^ *(\/\/|\/?\*)/;
/** Whole lines of a comment, or of a text between triple quotes. */
const PYTHON_PROSE = /^ *#.*$|^.*?"""[\s\S]*?""".*$/gm;
const DUMPING_NAMES = /^(utils?|helpers?|common|types|misc|shared)(\.test)?\.ts$/;
const LEFT_UNDONE = /\b(TODO|FIXME|XXX|HACK)\b/;
const TYPES_OFF = /@ts-(ignore|nocheck|expect-error)|(\bas|:) any(?=[;,)\]}=>|]|$)|biome-ignore/;
const HEADER = /^(?:#!.*\n)?\/\*\*\n(.*?)\n \*\//s;
const HEADER_MAX = 10;
/** As a comment names it, and as a page of `docs/` links to it. */
const NAMED_INTERNAL = /\binternals\/[\w-]+\.md\b/g;
const TESTS_OFF = /\b(it|test|describe)\.(skip|only|todo)\(|\bx(it|describe)\(/;

/** A page that names a file, or a test without its ending, promises that it is there. */
const NAMED_SOURCE = /`([\w./-]+\.ts)`/g;
/** As a command has it. */
const NAMED_IN_TEST = /(?<![\w./-])test\/([\w./*-]*\w)/g;
const NAMED_TEST =
  /`((?:api|cluster|contract|deployment|faults|linters|load|process|proofs|simulation|support|unit)\/[\w./*-]+)`/g;

const listed = (pattern: string, ...options: string[]): string[] =>
  execFileSync('git', ['ls-files', ...options, '--', pattern], { encoding: 'utf8' })
    .split('\n')
    .filter((name) => name !== '' && existsSync(name));

const files = listed('*.ts', '--cached', '--others', '--exclude-standard');
const inTest = listed('test', '--cached', '--others', '--exclude-standard');
const breaches: string[] = [];

function checkInternals(file: string, text: string): void {
  for (const [named] of text.matchAll(NAMED_INTERNAL))
    if (!existsSync(`docs/${named}`)) breaches.push(`${file}: there is no docs/${named}`);
}

function checkLine(file: string, line: string, at: number): void {
  if (PROSE.test(line) && line.length > PROSE_MAX)
    breaches.push(`${file}:${at + 1}: a comment of ${line.length} columns; at most ${PROSE_MAX}`);
  for (const [rule, what] of [
    [LEFT_UNDONE, 'left undone'],
    [TYPES_OFF, 'types or rules switched off'],
    [TESTS_OFF, 'a test that does not run'],
  ] as const) {
    if (rule.test(line)) breaches.push(`${file}:${at + 1}: ${what}`);
  }
}

function checkSource(file: string): void {
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\n');
  if (lines.length > LINES_MAX + 1)
    breaches.push(`${file}: ${lines.length} lines; at most ${LINES_MAX}, split by noun`);
  const header = HEADER.exec(text)?.[1]?.split('\n').length ?? 0;
  if (header > HEADER_MAX && !file.startsWith('test/'))
    breaches.push(`${file}: a header of ${header} lines; at most ${HEADER_MAX}, the argument goes to docs/internals/`);
  checkInternals(file, text);
  if (DUMPING_NAMES.test(basename(file))) breaches.push(`${file}: a name for everything is a name for nothing`);
  if (!/^[a-z0-9]+([.-][a-z0-9]+)*\.ts$/.test(basename(file))) breaches.push(`${file}: file names are kebab-case`);
  for (const [at, line] of lines.entries()) checkLine(file, line, at);
}

function checkSuites(): void {
  const tests = files.filter((name) => name.endsWith('.test.ts'));
  const suites = Object.values(LONG_SUITES).flat();
  for (const path of [...suites, ...NOT_IN_GATE]) {
    if (!tests.some((name) => name.startsWith(path))) breaches.push(`test/suites.ts: ${path} is no test`);
  }
  for (const name of tests.filter((test) => NOT_IN_GATE.some((path) => test.startsWith(path)))) {
    if (!suites.some((path) => name.startsWith(path)))
      breaches.push(`${name}: neither in the gate nor in a long suite`);
  }
}

function checkPythonProse(script: string): void {
  const text = readFileSync(script, 'utf8');
  const prose = text.match(PYTHON_PROSE)?.flatMap((lines) => lines.split('\n')) ?? [];
  for (const line of prose)
    if (line.length > PROSE_MAX)
      breaches.push(`${script}: prose of ${line.length} columns; at most ${PROSE_MAX}: ${line.trim()}`);
}

function checkPage(page: string): void {
  const text = readFileSync(page, 'utf8');
  checkInternals(page, text);
  for (const [, named] of text.matchAll(NAMED_SOURCE))
    if (!files.some((name) => `/${name}`.endsWith(`/${named}`))) breaches.push(`${page}: there is no ${named}`);
  for (const [, named] of [...text.matchAll(NAMED_TEST), ...text.matchAll(NAMED_IN_TEST)]) {
    const start = `test/${named!.split('*')[0]}`;
    if (!inTest.some((name) => name.startsWith(start))) breaches.push(`${page}: there is no ${named} in test/`);
  }
  // Tables and code do not wrap.
  let isCode = false;
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trimStart().startsWith('```')) isCode = !isCode;
    if (!isCode && !/^ *\|/.test(line) && line.length > PROSE_MAX)
      breaches.push(`${page}:${at + 1}: prose of ${line.length} columns; at most ${PROSE_MAX}`);
  }
}

for (const file of files) if (file !== 'scripts/house-rules.ts') checkSource(file);
for (const page of listed('*.md')) checkPage(page);
for (const script of listed('*.py')) checkPythonProse(script);
checkSuites();

for (const breach of breaches) console.error(breach);
if (breaches.length > 0) process.exit(1);
console.log('house rules hold');
