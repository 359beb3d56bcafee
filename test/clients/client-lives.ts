/** Scenario for each of Pinecone's clients, from an empty account to a deleted index. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Api } from '../support/api-client.ts';
import { ADMIN_TOKEN, createTenant, TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';
import type { Installed, Scenario } from './installed.ts';

export const NODE_VERSIONS = ['5.1.2', '6.1.4', '7.2.0', '8.2.0', '9.0.0'];
export const PYTHON_VERSIONS = ['7.3.0', '8.1.2', '9.1.0', '10.2.0'];
const STEPS = 9;

/**
 * Environment of the service that the clients use. Its plan has no room for what they upsert at
 * first.
 */
export const CLIENTS_ENVIRONMENT = {
  PROVEC_ADMIN_TOKEN: ADMIN_TOKEN,
  PROVEC_PLANS: JSON.stringify({ free: { vectors: 100, collections: -1 } }),
};

export interface Met {
  readonly installed: Installed;
  readonly url: string;
  readonly api: Api;
  /** Stops the process that holds the data gracefully and starts a new one. */
  renew(): Promise<void>;
}

export function clientLives(nodeVersions: string[], pythonVersions: string[], met: () => Met): void {
  describe.each([
    ...nodeVersions.map((version) => ['Node', version, 'node-scenario.ts'] as const),
    ...pythonVersions.map((version) => ['Python', version, 'scenario.py'] as const),
  ])('%s %s', (language, version, file) => {
    const major = version.split('.')[0]!;
    const name = `${language.toLowerCase()}-${major}`;
    let scenario: Scenario;
    /** Runs a part of the scenario and returns the names of its steps. */
    const client = (part: 'write' | 'read' | 'end' | 'full', key = TEST_KEY) =>
      scenario(file, major, met().url, key, part);
    beforeAll(async () => {
      const { installed } = met();
      scenario =
        language === 'Node'
          ? await installed.fromNpm(`@pinecone-database/pinecone@${version}`)
          : await installed.fromPypi(`pinecone==${version}`);
    });

    test('creates an index, writes, reads, changes and deletes', async () => {
      expect(await client('write')).toHaveLength(STEPS);
    });

    test('finds everything after a restart, and verify says match', async () => {
      await met().renew();
      expect(await client('read')).toHaveLength(1);
      const verdict = async () => (await met().api('GET', `/collections/${name}/verify`)).body;
      await until('it is anchored', async () => (await verdict()).state !== 'pending');
      expect(await verdict()).toMatchObject({ state: 'match', verified: true });
    });

    test('deletes everything', async () => {
      expect(await client('end')).toHaveLength(1);
    });

    test('reports within 20 s that a plan is full', async () => {
      const { key } = await createTenant(met(), 'free', name);
      expect(await client('full', key.secret)).toHaveLength(2);
    });
  });
}
