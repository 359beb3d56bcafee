/** Shape that a value must have. `#<name>` refers to a named shape. Unknown members are allowed. */
export type Shape =
  | 'any'
  | 'string'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'null'
  | `#${string}`
  | { readonly list: Shape }
  | { readonly map: Shape }
  | { readonly oneOf: readonly Shape[] }
  /** Required and optional members. */
  | { readonly has: Members; readonly may: Members };
type Members = Readonly<Record<string, Shape>>;
