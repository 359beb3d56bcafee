/**
 * A program that uses LangChain's Pinecone store for Node: `node langchain-scenario.ts <folder of
 * the packages> <url> <key>`. Leaves 220 records.
 */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [folder, url, apiKey] = process.argv.slice(2) as [string, string, string];
const NAME = 'langchain-node';
const TOPICS = ['apple', 'banana', 'cherry', 'damson'];

/** The packages' types are not installed when this file is type-checked. */
type Call<T = unknown> = (...args: unknown[]) => Promise<T>;
type Made<T = object> = new (options: object) => T;
interface Found {
  id: string;
  pageContent: string;
  metadata: { page: number };
}
interface Store {
  addDocuments: Call<string[]>;
  addVectors: Call;
  delete: Call;
  similaritySearch: Call<Found[]>;
  similaritySearchWithScore: Call<[[Found, number]]>;
  maxMarginalRelevanceSearch: Call<Found[]>;
}
const { resolve } = createRequire(`${folder}/package.json`);
const load = async <T>(name: string) => (await import(pathToFileURL(resolve(name)).href)) as T;
const { Pinecone } = await load<{ Pinecone: Made<Record<string, Call>> }>('@pinecone-database/pinecone');
const { Document } = await load<{ Document: Made }>('@langchain/core/documents');
const { Embeddings } = await load<{ Embeddings: Made }>('@langchain/core/embeddings');
const { PineconeStore } = await load<{ PineconeStore: Made & Record<string, Call<Store>> }>('@langchain/pinecone');

/** Embeds a text as the number of times that each topic occurs in it. */
class Counts extends Embeddings {
  embedQuery = async (text: string) => TOPICS.map((topic) => text.split(topic).length - 1 + 0.01);
  embedDocuments = (texts: string[]) => Promise.all(texts.map(this.embedQuery));
}

const config = { apiKey, controllerHostUrl: `${url}/pinecone` };
const pinecone = new Pinecone(config);
const spec = { serverless: { cloud: 'aws', region: 'us-east-1' } };
await pinecone.createIndex!({ name: NAME, dimension: TOPICS.length, metric: 'cosine', spec, waitUntilReady: true });
const pineconeIndex = (pinecone as unknown as { index(name: string): Record<string, Call> }).index(NAME);

const documents = Array.from({ length: 240 }, (_, page) => {
  const topic = TOPICS[page % TOPICS.length]!;
  const pageContent = `${topic} ${page % 8 < 4 ? topic : 'damson'} on page ${page}`;
  return new Document({
    pageContent,
    metadata: { page, tags: [topic, 'fruit'], source: { name: 'book' }, none: null },
  });
});
const store = await PineconeStore.fromDocuments!(documents, new Counts({}), { pineconeIndex });

const [[first, score]] = await store.similaritySearchWithScore('apple', 1, { page: { $lt: 1 }, tags: 'apple' });
assert.equal(first.pageContent, 'apple apple on page 0');
assert.deepEqual(first.metadata, { page: 0, tags: ['apple', 'fruit'], 'source.name': 'book' });
assert.ok(Math.abs(score - 1) < 1e-3);
assert.equal((await store.similaritySearch('banana', 30, { page: { $gte: 220 } })).length, 20);
assert.deepEqual(await store.similaritySearch('banana', 1, { page: 500 }), []);
const diverse = await store.maxMarginalRelevanceSearch('apple', { k: 2, fetchK: 60, lambda: 0.1 });
assert.equal(diverse.map(({ metadata }) => metadata.page % 8).join(), '0,4');

const named = { pineconeConfig: { indexName: NAME, config }, namespace: 'other' };
const other = await PineconeStore.fromExistingIndex!(new Counts({}), named);
const ids = ['a', 'b', 'c', 'd'];
assert.deepEqual(await other.addDocuments(documents.slice(0, 4), { ids }), ids);
await other.delete({ ids: ['a'] });
assert.equal((await other.similaritySearch('banana', 1))[0]!.id, 'b');
await other.delete({ deleteAll: true });
assert.deepEqual(await other.similaritySearch('apple', 4), []);
await store.delete({ filter: { page: { $gte: 220 } } });
const hasty = await PineconeStore.fromExistingIndex!(new Counts({}), { pineconeIndex, maxRetries: 0 });
await assert.rejects(hasty.addVectors([[1]], documents), { name: 'PineconeBadRequestError' });
const { totalRecordCount } = (await pineconeIndex.describeIndexStats!()) as { totalRecordCount: number };
assert.equal(totalRecordCount, 220);
console.log('all');
