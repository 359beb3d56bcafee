/** A vector as input. It is sent as JSON numbers and stored as float32. */
export type Numbers = readonly number[] | Float32Array | Float64Array;

/** `T` with exactly one of the fields `K`. */
export type ExactlyOne<T, K extends keyof T> = Omit<T, K> &
  { [P in K]: Required<Pick<T, P>> & { [Q in Exclude<K, P>]?: never } }[K];

/** `T` with at least one of the fields `K`. */
export type AtLeastOne<T, K extends keyof T> = T & { [P in K]: Required<Pick<T, P>> }[K];
