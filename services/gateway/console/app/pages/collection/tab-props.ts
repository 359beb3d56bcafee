import type * as Api from '../../../../../../client/api/generated.ts';
import type { PageRoute } from '../../shell/route.ts';

/** What each tab of a collection gets. */
export interface TabProps {
  collection: Api.CollectionDetail;
  route: PageRoute;
  /** Loads the collection again, after a write. */
  reload(): void;
}
