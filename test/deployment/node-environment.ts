import { type Container, type Manifest, quantity } from './manifest.ts';

/** Example contents of a cluster's secrets, by the variable that they set. */
const SECRETS: Record<string, string> = {
  PROVEC_MONGO_URL: 'mongodb://provec:secret@mongo.example.com:27017/provec?replicaSet=rs0',
  PROVEC_REDIS_URL: 'rediss://:secret@redis.example.com:6379',
  PROVEC_SECRET: 'the-secret-of-an-installation-of-tests',
  PROVEC_BOOTSTRAP_KEY: 'a-key-that-the-operator-chose',
  PROVEC_ADMIN_TOKEN: 'a-token-that-the-operator-chose',
  PROVEC_SOLANA_RPC_URLS: 'https://rpc.example.com/?api-key=secret',
};

/** Variables whose value must not appear in a manifest. */
export const SECRET_VARIABLES: ReadonlySet<string> = new Set(Object.keys(SECRETS));

/** The environment that Kubernetes gives a container. Throws for references that do not resolve. */
export function environmentOf(
  { env = [], envFrom = [], resources, name }: Container,
  manifests: readonly Manifest[],
): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const { configMapRef } of envFrom) {
    const map = manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMapRef?.name);
    if (!map) throw new Error(`${name} takes its environment from ${configMapRef?.name}, which is no ConfigMap here`);
    Object.assign(environment, map.data);
  }
  for (const { name: variable, value, valueFrom } of env) {
    const resource = valueFrom?.resourceFieldRef;
    if (value !== undefined) environment[variable] = value;
    else if (valueFrom?.secretKeyRef) environment[variable] = SECRETS[variable];
    else if (valueFrom?.fieldRef?.fieldPath === 'metadata.name') environment[variable] = 'provec-shards-0';
    else if (resource?.resource === 'requests.cpu' && resource.containerName === name)
      environment[variable] = String(Math.ceil(quantity(resources?.requests?.cpu) / quantity(resource.divisor)));
    else throw new Error(`${variable} comes from nowhere`);
    if (environment[variable] === undefined) throw new Error(`${variable} is no secret, but comes from one`);
  }
  return environment;
}
