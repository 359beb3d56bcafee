/** Returns an element of a list. Throws RangeError if there is none at `index`. */
export function itemAt<T>(list: ArrayLike<T>, index: number): T {
  const item = list[index];
  if (item === undefined) throw new RangeError(`There is no element ${index} in a list of ${list.length}.`);
  return item;
}

/** Returns the value of a key. Throws RangeError if the map does not have it. */
export function getOrThrow<K, V>(map: { get(key: K): V | undefined }, key: K): V {
  const value = map.get(key);
  if (value === undefined) throw new RangeError(`The map has no key ${String(key)}.`);
  return value;
}

/** Returns the last element of a list. Throws RangeError if the list is empty. */
export function lastOf<T>(list: ArrayLike<T>): T {
  return itemAt(list, list.length - 1);
}

/** Returns the first of the items. Throws RangeError if there are none. */
export function firstOf<T>(items: Iterable<T>): T {
  for (const item of items) return item;
  throw new RangeError('There are no items.');
}
