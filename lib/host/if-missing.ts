/**
 * Makes a handler for `catch` that returns `instead` if a file or folder is missing, and rethrows
 * every other error.
 */
export function ifMissing<T>(instead: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return instead;
    throw error;
  };
}
