import type * as Api from '../../../../../../../client/api/generated.ts';

/** Where a record is. */
export interface RecordPlace {
  collection: Api.CollectionDetail;
  id: string;
  namespace: string;
}
