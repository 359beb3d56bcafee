/** Metadata of a collection whose records may have any. */
export type AnyMetadata = Record<string, unknown>;

/** `T` of the API with `M` for its metadata, and parts of `M` where metadata is changed. */
export type WithMetadata<T, M extends object> = [AnyMetadata] extends [M] ? T : Replaced<T, M>;

type Kept = string | number | boolean | null | undefined | readonly number[] | ArrayBufferView;

type Replaced<T, M> = T extends Kept
  ? T
  : T extends ReadonlyArray<infer Item>
    ? Array<Replaced<Item, M>>
    : { [K in keyof T]: K extends 'metadata' ? M : K extends 'setMetadata' ? Partial<M> : ReplacedMember<T, K, M> };

/** Filters name fields by paths. */
type ReplacedMember<T, K extends keyof T, M> = K extends 'filter' ? T[K] : Replaced<T[K], M>;
