/** What Pinecone calls the default namespace. */
export const DEFAULT_NAMESPACE = '__default__';

/** `__default__`, an empty name and none: the default one. What is no string is refused later. */
export const namespaceOf = (theirs: unknown): unknown => (theirs === DEFAULT_NAMESPACE || theirs == null ? '' : theirs);

/** As lists of namespaces name it. */
export const pineconeNamespace = (ours: string): string => (ours === '' ? DEFAULT_NAMESPACE : ours);
