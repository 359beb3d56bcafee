import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser';
import { lastOf } from '../../../lib/checked-access.ts';
import type { ErrorDetail } from '../../../lib/errors.ts';
import { ValueMap } from '../../../lib/filter/value-map.ts';
import { printableName } from '../../../lib/records/fields.ts';

/** The path is empty for the whole text. */
export interface JsonFault extends ErrorDetail {
  /** `line 2, column 5`, both from 1, or `column 5` if the text has a single line. */
  where: string;
}

/** Values that programs print instead of encoding, matched at the error's position. */
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
  UnexpectedEndOfString: 'a string with a closing quote',
  InvalidCharacter: 'a string without raw control characters',
  InvalidEscapeCharacter: 'a valid JSON escape',
  InvalidUnicode: 'four hexadecimal digits',
};

const SPACE = 0x20;
const BLANKS_MAX = 100_000;

/** Thrown to end a visit as soon as the result is known: the rest may nest to any depth. */
class Stop extends Error {
  override name = 'Stop';
  /** Null for a member that is looked for. */
  readonly code: ParseErrorCode | null;
  readonly offset: number;

  constructor(code: ParseErrorCode | null, offset: number) {
    super();
    this.code = code;
    this.offset = offset;
  }
}

/** Member names and element indexes; null stands for an object before its first name. */
type Steps = (string | number | null)[];

/**
 * Returns the first place where `text` is not JSON. Returns null if it is JSON, or if it has a run
 * of blanks that would take too long to scan. Takes about a second for 40 MB.
 */
export function jsonFault(text: string): JsonFault | null {
  const { stop, steps } = visited(text);
  if (stop === null || stop.code === null) return null;
  const { code, offset } = stop;
  return {
    path: pathOf(steps),
    ...expectedAndGot(text, offset, printParseErrorCode(code)),
    where: whereOf(text, offset),
  };
}

/**
 * Returns the path of the first duplicate member in `text`, which must be JSON. Returns null if
 * there is none, or if a run of blanks would take too long to scan.
 */
export function repeatedMember(text: string): string | null {
  const names: ValueMap[] = [];
  const { stop, steps } = visited(text, {
    begin: () => void names.push(new ValueMap()),
    name(name, offset) {
      const known = lastOf(names);
      if (known.get(name) !== undefined) throw new Stop(null, offset);
      known.set(name, 1);
    },
    end: () => void names.pop(),
  });
  return stop === null ? null : pathOf(steps);
}

/**
 * Returns the path of the first member whose name has more than `maxBytes` bytes. Returns null if
 * `text` is not JSON up to there, or if a run of blanks would take too long to scan.
 */
export function longMember(text: string, maxBytes: number): string | null {
  const { stop, steps } = visited(text, {
    ...NO_WATCH,
    name(name, offset) {
      if (name.length > maxBytes / 3 && Buffer.byteLength(name) > maxBytes) throw new Stop(null, offset);
    },
  });
  return stop === null || stop.code !== null ? null : pathOf(steps);
}

interface ObjectWatch {
  begin(): void;
  name(name: string, offset: number): void;
  end(): void;
}
const NO_WATCH: ObjectWatch = { begin: () => undefined, name: () => undefined, end: () => undefined };

/** Visits `text` until an error or a Stop from `watch`. Returns the Stop and the path to it. */
function visited(text: string, watch = NO_WATCH): { stop: Stop | null; steps: Steps } {
  const steps: Steps = [];
  if (hasManyBlanks(text)) return { stop: null, steps };
  try {
    visit(
      text,
      {
        onObjectBegin() {
          steps.push(null);
          watch.begin();
        },
        onObjectProperty(name, offset) {
          steps.splice(-1, 1, name);
          watch.name(name, offset);
        },
        onObjectEnd() {
          steps.pop();
          watch.end();
        },
        onArrayBegin: () => void steps.push(0),
        onArrayEnd: () => void steps.pop(),
        onSeparator(character) {
          const step = steps.at(-1);
          if (character === ',') steps.splice(-1, 1, typeof step === 'number' ? step + 1 : null);
        },
        onError(code, offset) {
          throw new Stop(code, offset);
        },
      },
      { disallowComments: true },
    );
  } catch (error) {
    if (error instanceof Stop) return { stop: error, steps };
    throw error;
  }
  return { stop: null, steps };
}

/** Finds long runs of blanks. The scanner takes 30 seconds for 60 MB of them. */
function hasManyBlanks(text: string): boolean {
  let run = 0;
  for (let at = 0; at < text.length && run <= BLANKS_MAX; at++) run = text.charCodeAt(at) <= SPACE ? run + 1 : 0;
  return run > BLANKS_MAX;
}

const pathOf = (steps: Steps): string =>
  steps.reduce<string>((path, step) => {
    if (typeof step === 'number') return `${path}[${step}]`;
    if (step === null) return path;
    const name = step === '' ? '""' : printableName(step);
    return path === '' ? name : `${path}.${name}`;
  }, '');

function expectedAndGot(text: string, offset: number, code: string): { expected: string; got: string } {
  const rest = text.slice(offset, offset + 16);
  const mistake = MISTAKES.find(({ looks }) => looks.test(rest));
  if (mistake !== undefined) return { expected: mistake.expected, got: mistake.got };
  const expected = EXPECTED[code] ?? 'a value';
  if (rest.trim() === '') return { expected, got: 'the end' };
  return { expected, got: /^[\x21-\x7e]/.exec(rest)?.[0] ?? 'another character' };
}

function whereOf(text: string, offset: number): string {
  const before = text.slice(0, offset);
  const column = `column ${offset - before.lastIndexOf('\n')}`;
  return text.includes('\n') ? `line ${before.split('\n').length}, ${column}` : column;
}
