import { describe, expect, test } from '@jest/globals';
import { Misspellings } from '../../../../lib/records/misspellings.ts';

const KNOWN = ['values', 'metadata'];
const MOST = 1_000;
const names = (count: number) => Array.from({ length: count }, (_, at) => `another${at}`);

describe('unknown names of one request', () => {
  test('may be a thousand, and each any number of times', () => {
    const misspellings = new Misspellings(KNOWN);
    for (let at = 0; at < 3; at++) misspellings.refuse([...KNOWN, ...names(MOST)], `vectors[${at}]`);
    expect(() => misspellings.refuse(['one more'], 'vectors[3]')).toThrow(
      'vectors[3] must be without more than 1,000 unknown fields, but is with more.',
    );
  });

  test('are read no further than the first that is refused', () => {
    let read = 0;
    function* endless(): Iterable<string> {
      for (;;) yield `another${read++}`;
    }
    expect(() => new Misspellings(KNOWN, 'query parameter').refuse(endless())).toThrow(
      'The request must be without more than 1,000 unknown query parameters, but is with more.',
    );
    expect(read).toBe(MOST + 1);
  });

  test('are refused if they are misspelt, also after a thousand others', () => {
    const misspellings = new Misspellings(KNOWN);
    misspellings.refuse(names(MOST));
    expect(() => misspellings.refuse(['metdata'])).toThrow('did you mean metadata?');
  });
});
