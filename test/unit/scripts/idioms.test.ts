import { expect, test } from '@jest/globals';
import { idiomOfComment, idiomsOfPage } from '../../../scripts/idioms.ts';

const REFUSED = [
  ['Of bodies the gateway reads the head.', 'Of'],
  ['Has live slots keep their content.', 'Has'],
  ['So much fits.', 'So much'],
  ['So long requests may wait.', 'So long'],
  ['Nobody is to retry.', 'Nobody'],
  ['Names whoever asked.', 'whoever'],
  ['A change that somebody made.', 'somebody'],
  ['Last of all it is looked here.', 'it is looked'],
  ['The node is gone, so of it it is not asked.', 'of it it is'],
  ['The service goes on.', 'goes on'],
] as const;

test.each(REFUSED)('a comment and a page must not say: %s', (prose, idiom) => {
  expect(idiomOfComment(prose)).toBe(idiom);
  expect(idiomsOfPage(`# Title\n\n* ${prose}\n`)).toEqual([idiom]);
  expect(idiomsOfPage(`One fact. ${prose}`).map((found) => found.replace(/^\. /, ''))).toEqual([idiom]);
});

test('code, quotations and good prose pass', () => {
  expect(idiomOfComment('Returns the number of shards. Nodes keep serving.')).toBeNull();
  expect(idiomsOfPage('Not "whoever", but `nobody`.\n\n```\nOf course\n```\n\nHashes differ.')).toEqual([]);
});
