/** Thrown when a source refuses a request, or gives an answer that the adapter cannot use. */
export class SourceError extends Error {
  /** HTTP status; null if there was no answer. */
  readonly status: number | null;

  constructor(message: string, status: number | null = null, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
