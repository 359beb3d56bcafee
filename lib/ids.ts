/**
 * A string that identifies one kind of thing. Passing an id of another kind is a type error. A
 * plain string is assignable to every kind, for decoders and tests.
 */
export type IdOf<Kind extends string> = string & { readonly kind?: Kind };

export type AccountId = IdOf<'account'>;
export type CollectionId = IdOf<'collection'>;
