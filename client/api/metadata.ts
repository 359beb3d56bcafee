/** Default type of metadata: any JSON object. */
export type AnyMetadata = Record<string, unknown>;

/** `T` of the API with `M` as the type of `metadata`, and `Partial<M>` for `setMetadata`. */
export type WithMetadata<T, M extends object> = [AnyMetadata] extends [M] ? T : WithTypedMetadata<T, M>;

type Kept = string | number | boolean | null | undefined | readonly number[] | ArrayBufferView;

type WithTypedMetadata<T, M> = T extends Kept
  ? T
  : T extends ReadonlyArray<infer Item>
    ? Array<WithTypedMetadata<Item, M>>
    : { [K in keyof T]: K extends 'metadata' ? M : K extends 'setMetadata' ? Partial<M> : WithTypedMember<T, K, M> };

/** Filters keep their type, since they address fields by dotted paths. */
type WithTypedMember<T, K extends keyof T, M> = K extends 'filter' ? T[K] : WithTypedMetadata<T[K], M>;
