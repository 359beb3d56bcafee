/** Valid request, and a fresh service's response to it after the preceding examples. */
export interface Example {
  /** The operation's id in the OpenAPI document. */
  readonly operation: string;
  /** What the example shows; unique among those of its operation. */
  readonly summary: string;
  /** Path parameters, unencoded. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number>>;
  /** A list has one element per line. */
  readonly body?: object | readonly object[];
  /** Status of the response, if it is not the operation's only success. */
  readonly status?: number;
  /** A list has one element per line. A string is an excerpt of a response that is not JSON. */
  readonly answer: object | readonly object[] | string;
  /** True if the response has more members than `answer`. */
  readonly isExcerpt?: true;
  /** Members of the response whose values differ between runs. */
  readonly varies?: readonly string[];
  /** True if a fresh single process cannot give this response. */
  readonly isElsewhere?: true;
}
