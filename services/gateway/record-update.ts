import type { Actions } from '../../contracts/actions/call.ts';
import { isProvecError } from '../../lib/errors.ts';
import { invalidValue } from '../../lib/records/fields.ts';
import { isTooLongOnceMerged } from '../../lib/shard/change.ts';
import type { Bodies } from './bodies/decoders.ts';
import type { RouteCall, RouteInput } from './route.ts';

type Update = RouteInput & { body: Bodies['update'] };
type Updating = Actions['collections.updateRecords'];

/**
 * Updates records. If metadata would become too long, only a key with the scope `read` learns which
 * record's, where the request does not name it, and how long. Throws as the action does.
 */
export async function updateForKey(
  { body, mayRead }: Update,
  call: RouteCall,
  params: Updating['params'],
): Promise<Updating['result']> {
  try {
    return await call('collections.updateRecords', params);
  } catch (error) {
    const detail = isProvecError(error) ? error.details?.find(isTooLongOnceMerged) : undefined;
    if (mayRead || detail === undefined) throw error;
    throw invalidValue(body.updates ? detail.path : 'setMetadata', detail.expected, 'longer for a record');
  }
}
