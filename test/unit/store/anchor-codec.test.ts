import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { emptyAnchorRow, unreadableAnchorRow } from '../../../store/anchors.ts';
import * as mongo from '../../../store/mongo/anchors.ts';
import * as sqlite from '../../../store/sqlite/anchor-codec.ts';

const [own, other] = [randomUUID(), randomUUID()];
const row = { ...emptyAnchorRow(own, 'an address', 4), seal: 'a seal' };

test("SQLite: another collection's row, copied over its own, reads as one that the service did not write", () => {
  const stored = { collection: own, revision: 4, row: sqlite.encodeAnchor(row).row };
  expect(sqlite.decodeAnchor(stored)).toEqual(row);
  expect(sqlite.decodeAnchor({ ...stored, collection: other })).toEqual(unreadableAnchorRow(other, 4));
});

test('MongoDB: the same', () => {
  const document = { _id: own, newest: null, ...mongo.encodeAnchorDocument(row) };
  expect(mongo.decodeAnchorDocument(document)).toEqual(row);
  expect(mongo.decodeAnchorDocument({ ...document, _id: other })).toEqual(unreadableAnchorRow(other, 4));
});
