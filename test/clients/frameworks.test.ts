/**
 * LangChain's and LlamaIndex's Pinecone stores against Provec, with the clients that they depend
 * on.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';
import { type Installed, installFolder } from './installed.ts';

const LANGCHAIN_NODE = ['@langchain/pinecone@1.0.3', '@langchain/core@1.4.0', '@pinecone-database/pinecone@5.1.2'];
const LANGCHAIN_PYTHON = ['langchain-pinecone==0.2.13', 'langchain-core==1.8.3', 'pinecone==7.3.0'];
const LLAMAINDEX = ['llama-index-vector-stores-pinecone==0.9.0', 'llama-index-core==0.14.25', 'pinecone==9.1.0'];

let installed: Installed;
let service: ServiceProcess;
beforeAll(async () => {
  installed = await installFolder();
  service = await startProcess();
});
afterAll(async () => {
  await service.dispose();
  await installed.dispose();
});

test.each([
  ['langchain-node', 'fromNpm', LANGCHAIN_NODE, 'langchain-scenario.ts'],
  ['langchain-python', 'fromPypi', LANGCHAIN_PYTHON, 'langchain-scenario.py'],
  ['llamaindex', 'fromPypi', LLAMAINDEX, 'llamaindex-scenario.py'],
] as const)('%s stores, searches and deletes, and verify says match', async (index, from, packages, file) => {
  const scenario = await installed[from](...packages);
  expect(await scenario(file, service.url, TEST_KEY)).toEqual(['all']);
  const verdict = async () => (await service.api('GET', `/collections/${index}/verify`)).body;
  await until('it is anchored', async () => (await verdict()).state !== 'pending');
  expect(await verdict()).toMatchObject({ state: 'match', verified: true });
});
