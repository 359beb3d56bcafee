import { expect, test } from '@jest/globals';
import { jsonFault } from '../../../../../services/gateway/bodies/json-fault.ts';

const RECORD = '{"records":[{"id":"a","values":[0.1,';

test.each([
  [`${RECORD}NaN,2]}]}`, 'records[0].values[1]', 'a finite number (JSON has no NaN)', 'NaN', 'column 37'],
  [`${RECORD}-Infinity]}]}`, 'records[0].values[1]', 'a finite number (JSON has no Infinity)', 'Infinity', 'column 37'],
  [`${RECORD}inf]}]}`, 'records[0].values[1]', 'a finite number (JSON has no Infinity)', 'Infinity', 'column 37'],
  [
    `${RECORD} ..., 0.3]}]}`,
    'records[0].values[1]',
    'every element',
    '"..." (a list that was cut short when printed)',
    'column 38',
  ],
  [`${RECORD}0.2`, 'records[0].values', 'a comma or ]', 'the end', 'column 40'],
  ['{"vector":[0.1 0.2]}', 'vector[0]', 'a comma', '0', 'column 16'],
  ['{"vector":array([0.1])}', 'vector', 'a JSON array', 'a printed array', 'column 11'],
  ["{'vector':[1]}", '', 'a double quote', 'a single quote', 'column 2'],
  ['{"filter":{"a":None}}', 'filter.a', 'null', 'None', 'column 16'],
  ['{"filter":{"a":undefined}}', 'filter.a', 'null', 'undefined', 'column 16'],
  ['{"exact":True}', 'exact', 'true', 'True', 'column 10'],
  ['{"exact":False}', 'exact', 'false', 'False', 'column 10'],
  ['{"a":1,\n "b":2,}', '', 'a name in double quotes', '}', 'line 2, column 8'],
  ['{"a":1 // note\n}', 'a', 'no comment', 'a comment', 'line 1, column 8'],
  ['{"a":{"b":[1,2]},"c":[{"d":x}]}', 'c[0].d', 'a value', 'x', 'column 28'],
  ['{"a":"x', 'a', 'a string with a closing quote', '"', 'column 6'],
  ['{"a":1} {', '', 'nothing more', '{', 'column 9'],
  ['', '', 'a value', 'the end', 'column 1'],
])('%s', (text, path, expected, got, where) => {
  expect(jsonFault(text)).toEqual({ path, expected, got, where });
});

test('JSON has no fault, and what follows the first is not read', () => {
  expect(jsonFault('{"a":[{"b":[1,{}]},"x"],"c":null}')).toBeNull();
  expect(jsonFault(`{"a":"\n${'['.repeat(100_000)}`)).toMatchObject({ path: 'a' });
});

test('a key in a path is short and printable', () => {
  expect(jsonFault(`{"${'k'.repeat(100)}\\u0007":x}`)!.path).toBe(`${'k'.repeat(64)}...`);
});

test('text with more consecutive blanks than the scanner accepts is not scanned', () => {
  expect(jsonFault(`${' '.repeat(100_000)}x`)).toMatchObject({ where: 'column 100001' });
  expect(jsonFault(`{${'\n'.repeat(100_001)}x`)).toBeNull();
});
