/** Pinecone's newest clients on a cluster: a gateway, a control node and shard nodes. */
import { afterAll, beforeAll } from '@jest/globals';
import { startBacking } from '../support/backing-services.ts';
import { ClusterProcess } from '../support/cluster-process.ts';
import { CLIENTS_ENVIRONMENT, clientLives, NODE_VERSIONS, PYTHON_VERSIONS } from './client-lives.ts';
import { type Installed, installFolder } from './installed.ts';

let installed: Installed;
let cluster: ClusterProcess;
beforeAll(async () => {
  installed = await installFolder();
  const backing = await startBacking('SQLite + TCP');
  cluster = await ClusterProcess.start(backing, { shardNodes: 2, environment: CLIENTS_ENVIRONMENT });
});
afterAll(async () => {
  await cluster?.dispose();
  await installed.dispose();
});

clientLives(NODE_VERSIONS.slice(-1), PYTHON_VERSIONS.slice(-1), () => ({
  installed,
  url: cluster.gatewayUrl(),
  api: cluster.api,
  async renew() {
    for (const node of [...cluster.shardNodes]) {
      await cluster.addShardNode();
      await cluster.removeShardNode(node);
    }
  },
}));
