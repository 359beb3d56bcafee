/**
 * Pinecone's own clients against Provec, version by version. Each is installed into its own folder,
 * and is never a dependency of the project.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { CLIENTS_ENVIRONMENT, clientLives, NODE_VERSIONS, PYTHON_VERSIONS } from './client-lives.ts';
import { type Installed, installFolder } from './installed.ts';

let installed: Installed;
let service: ServiceProcess;
beforeAll(async () => {
  installed = await installFolder();
  service = await startProcess(CLIENTS_ENVIRONMENT);
});
afterAll(async () => {
  await service?.dispose();
  await installed.dispose();
});

clientLives(NODE_VERSIONS, PYTHON_VERSIONS, () => ({
  installed,
  url: service.url,
  api: service.api,
  async renew() {
    await service.kill('SIGTERM');
    await service.restart();
  },
}));

/** The newest version on PyPI. The JavaScript package is on no registry. */
test("the earlier service's Python SDK, solvec 0.1.0a10", async () => {
  const scenario = await installed.fromPypi('solvec==0.1.0a10', 'httpx');
  expect(await scenario('earlier-scenario.py', service.url, TEST_KEY)).toEqual(['all']);
});
