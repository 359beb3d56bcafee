import { extname } from 'node:path';

/**
 * Returns the address of a module that is started by address: a thread, or a process. `path` is
 * relative to `importer`, without an extension: `.ts` in a checkout, `.js` in the built package.
 */
export const moduleBeside = (path: string, importer: string): URL => new URL(`${path}${extname(importer)}`, importer);
