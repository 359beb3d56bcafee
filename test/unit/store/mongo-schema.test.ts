import { describe, expect, test } from '@jest/globals';
import { collectionDifference } from '../../../store/mongo/schema.ts';

describe('what the server reports about a collection', () => {
  const plain = { type: 'collection' as const, options: {} };
  const id = { v: 2, key: { _id: 1 }, name: '_id_' };
  const lookups = { v: 2, key: { lookups: 1 }, name: 'lookups_1', unique: true };

  test.each([
    ['contradictions is a view', { type: 'view', options: { viewOn: 'owners', pipeline: [] } }],
    ['has the option capped', { type: 'collection', options: { capped: true, size: 4_096 } }],
    ['has the option validator', { type: 'collection', options: { validator: { reason: { $exists: false } } } }],
    ['has the option collation', { type: 'collection', options: { collation: { locale: 'en', strength: 1 } } }],
    ['contradictions is a timeseries', { type: 'timeseries', options: { timeseries: { timeField: 'at' } } }],
    ['has the option timeseries', { options: { timeseries: { timeField: 'at' } } }],
    ['has the option viewOn', { options: { viewOn: 'owners' } }],
    ['has the option clusteredIndex', { type: 'collection', options: { clusteredIndex: { key: { _id: 1 } } } }],
    ['has the option expireAfterSeconds', { type: 'collection', options: { expireAfterSeconds: 0 } }],
    ['has the option another', { type: 'collection', options: { another: 'of a later server' } }],
  ])('is refused for: %s', (said, description) => {
    expect(collectionDifference({ name: 'contradictions', ...description } as never, [id])).toMatch(said);
  });

  test.each([
    ['a time to live under the name of GridFS', 'checkpoint-files.files', 'key', { key: { uploadDate: 1 } }],
    ['a time to live of 0', 'checkpoint-files.files', 'expireAfterSeconds', { expireAfterSeconds: 0 }],
    ['the key in another order', 'checkpoint-files.files', 'key', { key: { uploadDate: 1, filename: 1 } }],
    ['descending', 'checkpoint-files.files', 'key', { key: { filename: 1, uploadDate: -1 } }],
    ['a part', 'checkpoint-files.files', 'partialFilterExpression', { partialFilterExpression: { a: 1 } }],
    ['unique where it must not be', 'checkpoint-files.files', 'unique', { unique: true }],
    ['sparse where it must not be', 'checkpoint-files.files', 'sparse', { sparse: true }],
    ['blind to case', 'checkpoint-files.files', 'collation', { collation: { locale: 'en', strength: 1 } }],
    ['hidden', 'checkpoint-files.files', 'hidden', { hidden: true }],
  ])('is refused if an index of ours differs: %s', (_, name, field, change) => {
    const index = { v: 2, key: { filename: 1, uploadDate: 1 }, name: 'filename_1_uploadDate_1' };
    const said = `the collection ${name} has the index ${index.name} with another ${field}`;
    expect(collectionDifference({ name, ...plain }, [id, index])).toBeNull();
    expect(collectionDifference({ name, ...plain }, [id, { ...index, ...change }])).toBe(said);
  });

  test('is refused if an index is less strict than ours', () => {
    const name = 'account-keys';
    expect(collectionDifference({ name, ...plain }, [id, lookups])).toBeNull();
    for (const change of [{ unique: false }, { unique: undefined }])
      expect(collectionDifference({ name, ...plain }, [id, { ...lookups, ...change }])).toMatch(
        'lookups_1 with another unique',
      );
    const log = { v: 2, key: { uncounted: 1, _id: 1 }, name: 'uncounted_1__id_1', sparse: true };
    expect(collectionDifference({ name: 'log', ...plain }, [id, log])).toBeNull();
    expect(collectionDifference({ name: 'log', ...plain }, [id, { ...log, sparse: false }])).toMatch(
      'with another sparse',
    );
  });

  test('is refused if the index on _id differs', () => {
    const collation = { locale: 'en', strength: 1 };
    for (const change of [{ key: { _id: 'hashed' } }, { collation }])
      expect(collectionDifference({ name: 'accounts', ...plain }, [{ ...id, ...change }])).toMatch(
        'has the index _id_ with',
      );
  });

  test('is accepted if it only states defaults, in the words of any server', () => {
    const said = { capped: false, autoIndexId: true, validator: {}, validationLevel: 'strict', collation: null };
    const of = { ns: 'provec.account-keys', background: true, sparse: false, hidden: false };
    const indexes = [
      { ...id, unique: true },
      { ...lookups, ...of, v: 1 },
    ];
    expect(
      collectionDifference({ name: 'account-keys', type: 'collection', options: said as never }, indexes),
    ).toBeNull();
  });
});
