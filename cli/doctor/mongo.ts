/** Checks MongoDB's replica set, and whether a majority write is durable there. */
import { type Finding, findingsOf } from './finding.ts';

const TIMEOUT_MS = 5_000;
const MEMBERS = 3;

/** The part of MongoDB's answer to `hello` that is checked. */
export interface Hello {
  setName?: string;
  /** `isdbgrid` for a router of shards. */
  msg?: string;
  primary?: string;
  hosts?: readonly string[];
  passives?: readonly string[];
  arbiters?: readonly string[];
}

/** Checks the MongoDB at a URL. The URL may contain a password, so no finding repeats it. */
export async function mongoFinding(url: string): Promise<Finding> {
  const { problem } = findingsOf('mongodb');
  const { MongoClient } = await import('mongodb');
  let client: InstanceType<typeof MongoClient> | null = null;
  try {
    client = new MongoClient(url, {
      appName: 'provec doctor',
      serverSelectionTimeoutMS: TIMEOUT_MS,
      connectTimeoutMS: TIMEOUT_MS,
      socketTimeoutMS: TIMEOUT_MS,
      readPreference: 'primaryPreferred',
    });
    const admin = client.db('admin');
    // Servers that speak MongoDB's protocol may know only the older name.
    const hello = await admin.command({ hello: 1 }).catch(() => admin.command({ isMaster: 1 }));
    // A user without the role clusterMonitor may not see this.
    const config = await admin.command({ replSetGetConfig: 1 }).catch(() => null);
    return replicaFinding(hello as Hello, config?.config?.writeConcernMajorityJournalDefault ?? null);
  } catch (error) {
    return problem(
      `MongoDB cannot be asked (${(error as Error).name}): see PROVEC_MONGO_URL, its user and its network.`,
    );
  } finally {
    await client?.close();
  }
}

/** Checks a replica set. `isJournaled`: whether a majority write is journaled; null if unknown. */
export function replicaFinding(hello: Hello, isJournaled: boolean | null): Finding {
  const { ok, warning, problem } = findingsOf('mongodb');
  if (hello.msg === 'isdbgrid') return ok('MongoDB is sharded; Provec asks its majorities for every write.');
  if (hello.setName === undefined)
    return problem('MongoDB is not a replica set, so a majority is one disk: make it a replica set of three.');
  if (hello.primary === undefined)
    return problem(`The replica set ${hello.setName} has no primary, so nothing can be written: look at its members.`);
  if (isJournaled === false)
    return warning('The replica set has writeConcernMajorityJournalDefault off; Provec asks for the journal itself.');
  if ((hello.arbiters ?? []).length > 0)
    return warning('The replica set has an arbiter: a majority has to hold data, so replace it with a member.');
  const members = (hello.hosts ?? []).length + (hello.passives ?? []).length;
  if (members < MEMBERS)
    return warning(`The replica set has ${members} member${members === 1 ? '' : 's'}: use three, on their own disks.`);
  return ok(`The replica set ${hello.setName} has ${members} members that hold data, and a primary.`);
}
