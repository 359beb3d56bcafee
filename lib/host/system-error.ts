/** Returns the code of an error of the system, such as ENOENT; undefined for anything else. */
export function systemCode(error: unknown): string | undefined {
  const isCoded = typeof error === 'object' && error !== null && 'code' in error;
  return isCoded && typeof error.code === 'string' ? error.code : undefined;
}

/**
 * Makes a handler for `catch` that returns `instead` if a file or folder is missing, and rethrows
 * every other error.
 */
export function ifMissing<T>(instead: T): (error: unknown) => T {
  return (error) => {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return instead;
    throw error;
  };
}
