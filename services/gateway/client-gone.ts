import { Cancelled } from '../../contracts/actions/cancelled.ts';

/** Thrown when the client disconnected before its response was sent. */
export class ClientGoneError extends Cancelled {
  override name = 'ClientGoneError';

  constructor() {
    super(true);
  }
}
