import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const versionInManifest = (text: string) => (JSON.parse(text) as { version: string }).version;

/** Files that state the version, and how to read it from each. */
const PLACES: Readonly<Record<string, (text: string) => string | undefined>> = {
  'package.json': versionInManifest,
  'package-lock.json': versionInManifest,
  'client/package.json': versionInManifest,
  'python/pyproject.toml': (text) => /^version = "(.+)"$/m.exec(text)?.[1],
};

/** Returns the version of a source tree. Rejects if its files state different versions. */
export async function releaseVersion(folder: string): Promise<string> {
  const stated = await Promise.all(
    Object.entries(PLACES).map(async ([file, read]) => ({
      file,
      version: read(await readFile(join(folder, file), 'utf8')),
    })),
  );
  const [version, ...others] = new Set(stated.map((place) => place.version));
  if (version === undefined || others.length > 0)
    throw new Error(`The version differs:\n${stated.map((place) => `  ${place.file}: ${place.version}`).join('\n')}`);
  return version;
}
