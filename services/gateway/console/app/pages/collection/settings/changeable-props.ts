import type * as Api from '../../../../../../../client/api/generated.ts';

/** What each card of the settings gets. */
export interface ChangeableProps {
  collection: Api.CollectionDetail;
  reload(): void;
  /** Whether the key may change it. */
  mayChange: boolean;
}
