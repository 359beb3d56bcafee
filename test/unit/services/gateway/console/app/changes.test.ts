import { expect, test } from '@jest/globals';
import type * as Api from '../../../../../../client/api/generated.ts';
import { changesOf } from '../../../../../../services/gateway/console/app/pages/operator/audit/changes.ts';

const entry = (seq: number, id?: string, phase?: 'begin' | 'end'): Api.AuditEntry => ({
  ...{ seq, previousHash: '', hash: '' },
  ...(id !== undefined && { id }),
  ...(phase !== undefined && { phase }),
});

test('the entries of a change are joined, also if another change lies between them', () => {
  const entries = [entry(1, 'a', 'begin'), entry(2, 'b', 'begin'), entry(3, 'b', 'end'), entry(4, 'a', 'end')];
  const [newest, oldest] = changesOf(entries);
  expect([newest!.key, newest!.begun.seq, newest!.ended!.seq]).toEqual(['b', 2, 3]);
  expect([oldest!.key, oldest!.begun.seq, oldest!.ended!.seq]).toEqual(['a', 1, 4]);
});

test('an entry without its other half, or without an id, stands alone', () => {
  const [faulty, begun, ended] = changesOf([entry(3, 'a', 'end'), entry(4, 'b', 'begin'), entry(5)]);
  expect([faulty!.begun.seq, faulty!.ended]).toEqual([5, null]);
  expect([begun!.begun.seq, begun!.ended]).toEqual([4, null]);
  expect([ended!.begun.seq, ended!.ended!.seq]).toEqual([3, 3]);
});
