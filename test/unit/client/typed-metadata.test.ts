/** Types that the compiler must accept: a wrong line fails `npm run check:types`, not this test. */
import { expect, test } from '@jest/globals';
import type { Api, Collection, Provec } from '../../../client/index.ts';

interface Doc {
  title: string;
  year?: number;
}
type Docs = ReturnType<typeof docsOf>;
const docsOf = (provec: Provec) => provec.collection<Doc>('docs');

type Taken<F extends (...args: never[]) => unknown> = Parameters<F>[0];
type Given<F extends (...args: never[]) => unknown> = Awaited<ReturnType<F>>;
type Fits<Value, Target> = [Value] extends [Target] ? true : false;
type Upserted<M> = { records: { id: string; values: number[]; metadata: M }[] };
type ItemOf<T> = T extends AsyncIterable<infer Item> ? Item : never;

const TRUE: readonly true[] = [
  true satisfies Fits<Upserted<Doc>, Taken<Docs['upsert']>>,
  true satisfies Fits<Upserted<{ title: string; year: number }>, Taken<Docs['upsert']>>,
  // An interface type is accepted without a type argument, too.
  true satisfies Fits<Upserted<Doc>, Taken<Collection['upsert']>>,
  true satisfies Fits<{ ids: string[] }, Taken<Docs['fetch']>>,
  true satisfies Fits<{ filter: { year: 1 }; setMetadata: { year: number } }, Taken<Docs['update']>>,
  true satisfies Fits<Given<Docs['query']>['matches'][number]['metadata'], Doc | undefined>,
  true satisfies Fits<Given<Docs['queryMany']>[number]['matches'][number]['metadata'], Doc | undefined>,
  true satisfies Fits<Given<Docs['fetch']>[string]['metadata'], Doc>,
  true satisfies Fits<ItemOf<ReturnType<Docs['list']>>['metadata'], Doc | undefined>,
  true satisfies Fits<ItemOf<Given<Docs['export']>>['metadata'], Doc | undefined>,
  true satisfies Fits<Given<Docs['query']>['matches'][number]['values'], number[] | undefined>,
  // Without a type argument the types are those of the API.
  true satisfies Fits<Given<Collection['query']>, Api.QueryVectorsResult>,
  true satisfies Fits<Api.QueryVectorsResult, Given<Collection['query']>>,
];
const FALSE: readonly false[] = [
  false satisfies Fits<Upserted<{ title: number }>, Taken<Docs['upsert']>>,
  false satisfies Fits<Upserted<{ year: number }>, Taken<Docs['upsert']>>,
  false satisfies Fits<Upserted<string>, Taken<Collection['upsert']>>,
  false satisfies Fits<{ filter: { year: 1 }; setMetadata: { year: string } }, Taken<Docs['update']>>,
  false satisfies Fits<Iterable<{ id: string; values: number[]; metadata: { title: number } }>, Taken<Docs['import']>>,
];

test('the compiler checks them', () => {
  expect([TRUE.length, FALSE.length]).toEqual([13, 5]);
});
