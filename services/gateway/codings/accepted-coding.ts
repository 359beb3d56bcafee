/**
 * Returns the first of `codings` that an Accept-Encoding header names with a weight above 0, or
 * null. `codings` begins with the one that the sender prefers.
 */
export function acceptedCoding<Coding extends string>(
  accepted: string | string[] | undefined,
  codings: readonly Coding[],
): Coding | null {
  const named = new Set(
    `${accepted ?? ''}`
      .split(',')
      .map((part) => part.split(';').map((word) => word.trim().toLowerCase()))
      .filter(([, weight = '']) => !/^q=0(\.0*)?$/.test(weight))
      .map(([name]) => name),
  );
  return codings.find((coding) => named.has(coding)) ?? null;
}
