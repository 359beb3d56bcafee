/**
 * A string of one kind. Two kinds cannot be swapped: passing one for the other is a type error. A
 * plain string, as decoders and tests have it, fits every kind.
 */
export type IdOf<Kind extends string> = string & { readonly kind?: Kind };

export type AccountId = IdOf<'account'>;
export type CollectionId = IdOf<'collection'>;
