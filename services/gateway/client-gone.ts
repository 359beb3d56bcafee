/** The client went away before it had its answer: there is nobody to tell. */
export class ClientGoneError extends Error {
  override name = 'ClientGoneError';

  constructor() {
    super('the client closed the connection');
  }
}
