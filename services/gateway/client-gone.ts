import { Cancelled } from '../../lib/actions/cancelled.ts';

/** The client went away before it had its answer: there is nobody to tell. */
export class ClientGoneError extends Cancelled {
  override name = 'ClientGoneError';

  constructor() {
    super(true);
  }
}
