/** What Pinecone calls the default namespace. */
export const DEFAULT_NAMESPACE = '__default__';

/**
 * Returns the default namespace for `__default__`, an empty name or none. Values that are not
 * strings are refused later.
 */
export const namespaceOf = (theirs: unknown): unknown => (theirs === DEFAULT_NAMESPACE || theirs == null ? '' : theirs);

/** Returns the namespace's name in Pinecone's lists. */
export const pineconeNamespace = (ours: string): string => (ours === '' ? DEFAULT_NAMESPACE : ours);
