/** An entry of npm's lockfile, as far as it is used here. */
interface LockedPackage {
  version?: string;
  dev?: boolean;
  devOptional?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

/** npm's lockfile, version 3: packages by their folders, the project itself under ''. */
export interface Lockfile {
  name: string;
  version: string;
  lockfileVersion: number;
  requires?: boolean;
  packages: Record<string, LockedPackage>;
}

/**
 * Returns the lockfile of a package with these dependencies: of the packages in `lock` only those
 * that they need, in the same versions. Throws if a dependency is not locked.
 */
export function lockfileOf(lock: Lockfile, dependencies: Readonly<Record<string, string>>): Lockfile {
  const needed = new Set<string>();
  const waiting = Object.keys(dependencies).map((name) => placeOf(lock, '', name) ?? missing(name));
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    if (needed.has(place)) continue;
    needed.add(place);
    const from = place;
    waiting.push(...requirements(lock.packages[from]!).flatMap((name) => placeOf(lock, from, name) ?? []));
  }
  const { name, version, lockfileVersion, requires, packages } = lock;
  const kept = Object.entries(packages)
    .filter(([place]) => needed.has(place))
    .map(([place, { dev: _dev, devOptional: _devOptional, ...entry }]) => [place, entry] as const);
  const root = { name, version, dependencies: { ...dependencies } };
  return { name, version, lockfileVersion, requires, packages: { '': root, ...Object.fromEntries(kept) } };
}

function requirements(entry: LockedPackage): string[] {
  const isOptional = (name: string) => entry.peerDependenciesMeta?.[name]?.optional === true;
  const peers = Object.keys(entry.peerDependencies ?? {}).filter((name) => !isOptional(name));
  return [...Object.keys(entry.dependencies ?? {}), ...Object.keys(entry.optionalDependencies ?? {}), ...peers];
}

/** Returns where Node finds a package for a module in `from`, or undefined. */
function placeOf({ packages }: Lockfile, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const place = `${folder}${folder === '' ? '' : '/'}node_modules/${name}`;
    if (packages[place] !== undefined) return place;
    if (folder === '') return undefined;
  }
}

function missing(name: string): never {
  throw new Error(`package-lock.json has no package ${name}.`);
}
