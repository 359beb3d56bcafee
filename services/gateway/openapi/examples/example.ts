/**
 * A request, valid by the OpenAPI document, and what a fresh service answers to it after those that
 * stand before it.
 */
export interface Example {
  /** The operation's id in the OpenAPI document. */
  readonly operation: string;
  /** What this one shows; unlike those of the same operation. */
  readonly summary: string;
  /** Parameters of the path, not yet encoded. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number>>;
  /** A list: a line each. */
  readonly body?: object | readonly object[];
  /** Of the answer, where it is not the only one that succeeds. */
  readonly status?: number;
  /** A list: a line each. A text: something that stands in the answer, which is no JSON. */
  readonly answer: object | readonly object[] | string;
  /** The answer has these members, and more. */
  readonly isExcerpt?: true;
}
