/**
 * Shape that a value must have: a JSON type, `integer`, `any`, types joined by ` | `, or `#<name>`
 * for a named shape. `[shape]` is a list of such items, and `['|', ...shapes]` fits if one of the
 * shapes does. An object has the shapes of its members, or with `*` that of every member. A name
 * that ends in `?` is optional; unknown members are allowed.
 */
export type Shape = string | [Shape] | ['|', ...Shape[]] | ObjectShape;
export interface ObjectShape {
  readonly [member: string]: Shape;
}
