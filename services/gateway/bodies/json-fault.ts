import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser';
import { shownName } from '../../../lib/records/fields.ts';

export interface JsonFault {
  /** Of the value, such as `records[3].values[17]`; empty for the whole text. */
  path: string;
  expected: string;
  got: string;
  /** `line 2, column 5`, both from 1 on; of a text of one line `column 5`. */
  where: string;
}

/** What programs print where they should have encoded, by how it begins. */
const MISTAKES: readonly { looks: RegExp; got: string; expected: string }[] = [
  { looks: /^[+-]?nan\b/i, got: 'NaN', expected: 'a finite number (JSON has no NaN)' },
  { looks: /^[+-]?inf(inity)?\b/i, got: 'Infinity', expected: 'a finite number (JSON has no Infinity)' },
  { looks: /^(\.\.\.|…)/, got: '"..." (a list that was cut short when printed)', expected: 'every element' },
  { looks: /^(array|tensor)\(/, got: 'a printed array', expected: 'a JSON array' },
  { looks: /^None\b/, got: 'None', expected: 'null' },
  { looks: /^undefined\b/, got: 'undefined', expected: 'null' },
  { looks: /^True\b/, got: 'True', expected: 'true' },
  { looks: /^False\b/, got: 'False', expected: 'false' },
  { looks: /^'/, got: 'a single quote', expected: 'a double quote' },
  { looks: /^\/[/*]/, got: 'a comment', expected: 'no comment' },
];

const EXPECTED: Readonly<Record<string, string>> = {
  CommaExpected: 'a comma',
  CloseBracketExpected: 'a comma or ]',
  CloseBraceExpected: 'a comma or }',
  ColonExpected: 'a colon',
  PropertyNameExpected: 'a name in double quotes',
  EndOfFileExpected: 'nothing more',
  UnexpectedEndOfString: 'a string that is closed',
  InvalidCharacter: 'a string without raw control characters',
  InvalidEscapeCharacter: 'an escape that JSON has',
  InvalidUnicode: 'four hexadecimal digits',
};

const SPACE = 0x20;
const BLANKS_MAX = 100_000;

/** Ends a visit at its first error: what follows may nest to any depth. */
class Stop extends Error {
  override name = 'Stop';
  readonly code: ParseErrorCode;
  readonly offset: number;

  constructor(code: ParseErrorCode, offset: number) {
    super();
    this.code = code;
    this.offset = offset;
  }
}

/**
 * The first place where `text` is not JSON; null where it is, or where blanks take the scanner too
 * long. A second for 40 MB.
 */
export function jsonFault(text: string): JsonFault | null {
  if (hasManyBlanks(text)) return null;
  const steps: (string | number)[] = [];
  const begin = (step: string | number) => () => void steps.push(step);
  const end = () => void steps.pop();
  try {
    visit(
      text,
      {
        onObjectBegin: begin(''),
        onObjectProperty: (name) => void steps.splice(-1, 1, name),
        onObjectEnd: end,
        onArrayBegin: begin(0),
        onArrayEnd: end,
        onSeparator(character) {
          const step = steps.at(-1);
          if (character === ',') steps.splice(-1, 1, typeof step === 'number' ? step + 1 : '');
        },
        onError(code, offset) {
          throw new Stop(code, offset);
        },
      },
      { disallowComments: true },
    );
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    const { code, offset } = error;
    return { path: pathOf(steps), ...saidOf(text, offset, printParseErrorCode(code)), where: whereOf(text, offset) };
  }
  return null;
}

/** The scanner gathers blanks one by one: 60 MB of them took it half a minute. */
function hasManyBlanks(text: string): boolean {
  let run = 0;
  for (let at = 0; at < text.length && run <= BLANKS_MAX; at++) run = text.charCodeAt(at) <= SPACE ? run + 1 : 0;
  return run > BLANKS_MAX;
}

const pathOf = (steps: readonly (string | number)[]): string =>
  steps.reduce<string>((path, step) => {
    if (typeof step === 'number') return `${path}[${step}]`;
    if (step === '') return path;
    return path === '' ? shownName(step) : `${path}.${shownName(step)}`;
  }, '');

function saidOf(text: string, offset: number, code: string): { expected: string; got: string } {
  const rest = text.slice(offset, offset + 16);
  const mistake = MISTAKES.find(({ looks }) => looks.test(rest));
  if (mistake !== undefined) return { expected: mistake.expected, got: mistake.got };
  const expected = EXPECTED[code] ?? 'a value';
  if (rest.trim() === '') return { expected, got: 'the end' };
  return { expected, got: /^[\x21-\x7e]/.test(rest) ? rest[0] : 'another character' };
}

function whereOf(text: string, offset: number): string {
  const before = text.slice(0, offset);
  const column = `column ${offset - before.lastIndexOf('\n')}`;
  return text.includes('\n') ? `line ${before.split('\n').length}, ${column}` : column;
}
