/**
 * Seen in earlier systems: two writers read, change and write back the same state, and one of them
 * loses its records. `api/restart.test.ts` tests this after a restart.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { invariant } from '../support/invariant.ts';
import { referenceLeaf, referenceRoot } from '../support/reference-root.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const ROUNDS = 25;
const PER_WRITE = 4;

describe.each([1, 4])('over %i shards', (shards) => {
  let service: SharedService;

  beforeAll(async () => {
    service = await shareService();
    await service.api('POST', '/collections', { name: 'demo', dimensions: 2, shards });
  });

  test('two concurrent writers: everything acknowledged to either is stored', async () => {
    const recordsOf = (writer: string, round: number) =>
      Array.from({ length: PER_WRITE }, (_, at) => ({
        id: `${writer}-${round}-${at}`,
        values: [round + 1, at],
        metadata: { writer },
      }));
    const versions: number[] = [];
    const write = async (writer: string) => {
      for (let round = 0; round < ROUNDS; round++) {
        const records = recordsOf(writer, round);
        const { status, body } = await service.api('POST', '/collections/demo/upsert', { records });
        expect({ status, count: body.upsertedCount }).toEqual({ status: 200, count: PER_WRITE });
        versions.push(body.version as number);
      }
    };
    await Promise.all([write('ann'), write('ben')]);

    const all = ['ann', 'ben'].flatMap((writer) =>
      Array.from({ length: ROUNDS }, (_, round) => recordsOf(writer, round)).flat(),
    );
    const root = referenceRoot(all.map(({ id, values, metadata }) => referenceLeaf(id, values, metadata)));
    const expected = { vectors: Object.fromEntries(all.map((record) => [record.id, record])) };
    const check = async () => {
      const { body } = await service.api<{ collection: object }>('GET', '/collections/demo');
      expect(body.collection).toMatchObject({ vector_count: all.length, merkleRoot: root });
      const fetched = await service.api('POST', '/collections/demo/fetch', { ids: all.map(({ id }) => id) });
      expect(fetched.body).toEqual(expected);
    };
    await invariant('no update is lost', check);
    expect(new Set(versions).size).toBeGreaterThanOrEqual(ROUNDS);
  });
});
