/** The bodies of requests, as gateways send them to the actions. */
import type { ValidationRule } from 'fastest-validator';
import type { DecodedRequest, RequestName } from '../../contracts/requests/requests.ts';

type Checks<B> = { readonly [F in keyof B]-?: ValidationRule };

const optional = (type: string) => ({ type, optional: true });
const TEXTS = { type: 'array', items: 'string' } as const;
const SCOPE = { namespace: 'string', filter: optional('object') } as const;
const READ = { ...SCOPE, allNamespaces: 'boolean', consistency: 'string' } as const;
const PARTS = { includeValues: 'boolean', includeMetadata: 'boolean' } as const;

const query: Checks<DecodedRequest<'query'>> = {
  ...READ,
  ...PARTS,
  vector: optional('object'),
  id: optional('string'),
  topK: 'number',
  scoreThreshold: optional('number'),
  exact: 'boolean',
  allowPartial: 'boolean',
};

const createIndex: Checks<DecodedRequest<'createIndex'>> = {
  name: 'string',
  dimensions: 'number',
  metric: 'string',
  shards: 'number',
  replicas: 'number',
  quantization: 'string',
  deletionProtection: 'boolean',
  tags: optional('object'),
  place: optional('object'),
};

/** Parameter checks of the bodies, by kind of request. The gateway checks the values themselves. */
export const BODY_CHECKS = {
  createIndex,
  changeCollection: { deletionProtection: optional('boolean'), tags: optional('object') },
  upsert: { records: 'object', namespace: 'string', waitForAnchor: optional('boolean') },
  delete: {
    ...SCOPE,
    ids: { ...TEXTS, optional: true },
    all: optional('boolean'),
    dryRun: 'boolean',
    allNamespaces: 'boolean',
  },
  update: {
    ...SCOPE,
    updates: { type: 'array', items: 'object', optional: true },
    setMetadata: optional('string'),
    unsetMetadata: { ...TEXTS, optional: true },
    dryRun: 'boolean',
  },
  query,
  queries: { queries: { type: 'array', items: { type: 'object', props: query } } },
  fetch: { ids: TEXTS, namespace: 'string', consistency: 'string' },
  count: READ,
  facets: { ...READ, field: 'string', limit: 'number' },
  list: { ...READ, ...PARTS, prefix: optional('string'), limit: 'number', cursor: optional('string') },
} satisfies { [N in RequestName]?: Checks<DecodedRequest<N>> };

/** Type of the body among an action's parameters; undefined if the action has none. */
export type BodyOf<P> = P extends { body: infer B } ? B : undefined;
