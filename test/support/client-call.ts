import { type ActionName, type Actions, type Caller, call } from '../../contracts/actions/call.ts';
import type { NamedCollection } from '../../contracts/actions/collections.ts';
import { type RequestName, requestsOf } from '../../contracts/requests/requests.ts';
import { LIMITS } from '../../lib/limits.ts';

/** The kind of body of each action that takes one. */
const KINDS = {
  'collections.create': 'createCollection',
  'collections.upsert': 'upsert',
  'collections.delete': 'delete',
  'collections.updateRecords': 'update',
  'collections.query': 'query',
  'collections.queries': 'queries',
  'collections.fetch': 'fetch',
  'collections.count': 'count',
  'collections.facets': 'facets',
  'collections.listRecords': 'list',
} as const satisfies { [N in ActionName]?: RequestName };
type BodyAction = keyof typeof KINDS;
const WITH_VECTORS: readonly string[] = ['upsert', 'update', 'query', 'queries'];

type Named = NamedCollection & { isAnchorAwaited?: boolean; wantsAbsentFields?: boolean };

/** Parameters of an action with the fields of its body as a client sends them. */
export type ClientParams<N extends ActionName> = N extends BodyAction
  ? Named & Record<string, unknown>
  : Actions[N]['params'];

/** Calls an action as the gateway does, with the body decoded. */
export async function clientCall<N extends ActionName>(
  caller: Caller,
  action: N,
  params: ClientParams<N>,
  options: Record<string, unknown> = {},
): Promise<Actions[N]['result']> {
  const kind = Object.hasOwn(KINDS, action) ? KINDS[action as BodyAction] : null;
  if (kind === null) return call(caller, action, params as Actions[N]['params'], options);
  const { accountId, name, collection, collectionId, isAnchorAwaited, wantsAbsentFields, ...sent } = params as Named;
  if (kind === 'createCollection') {
    const body = requestsOf(LIMITS).createCollection.decode({ ...sent, name });
    return call(caller, 'collections.create', { ...body, accountId }, options) as Promise<Actions[N]['result']>;
  }
  const named = { accountId, name, collection, collectionId };
  const shape = WITH_VECTORS.includes(kind) ? (collection ?? (await call(caller, 'collections.resolve', named))) : null;
  const body = requestsOf(LIMITS)[kind].decode(sent, { shape });
  const all = { ...named, isAnchorAwaited, wantsAbsentFields, body };
  return call(caller, action, all as unknown as Actions[N]['params'], options);
}
