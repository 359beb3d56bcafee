import { readFile } from 'node:fs/promises';
import { findPackageJSON, stripTypeScriptTypes } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** Folder of the repository, whose layout the addresses of the modules repeat. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Files of the packages that the console imports by name. */
const PACKAGES: Readonly<Record<string, readonly [package_: string, file: string]>> = {
  preact: ['preact', 'dist/preact.mjs'],
  'preact/hooks': ['preact', 'hooks/dist/hooks.mjs'],
  htm: ['htm', 'dist/htm.module.js'],
  uplot: ['uplot', 'dist/uPlot.esm.js'],
};
/** Packages whose files are imported by their paths. */
const WITH_PATHS = ['@noble/hashes', 'hyparquet'];
/** Its files have comments that name types as imports. */
const COMMENTED = /^node_modules\/hyparquet\//;
/** An import or an export from another module; each begins a line, in packages, too. */
const STATIC = /^(?:import|export)(?:[^'"();]*?\bfrom)?\s*['"]([^'"]+)['"]/gm;
const DYNAMIC = /\bimport\(\s*['"](\.[^'"]+)['"]\s*\)/g;

/** Modules that a browser loads for an entry, by their paths in the repository. */
export interface ModuleGraph {
  /** Path of the module that imports all others. */
  readonly entry: string;
  readonly modules: ReadonlyMap<string, string>;
  /** Paths of the modules that are imported by name. */
  readonly named: ReadonlyMap<string, string>;
  /** Modules that load at once: those that the entry reaches without `import()`. */
  readonly first: readonly string[];
}

/**
 * Reads a module and everything that it imports. Rejects if an import cannot be
 * read. Yields to the event loop after each module, since the compiler of Node runs on it.
 */
export async function readModules(entry: string): Promise<ModuleGraph> {
  const modules = new Map<string, string>();
  const named = new Map<string, string>();
  const first: string[] = [];
  /** Modules to read, those of the first view before all others. */
  const waiting = { first: [entry], later: [] as string[] };
  for (;;) {
    const isFirst = waiting.first.length > 0;
    const path = waiting.first.pop() ?? waiting.later.pop();
    if (path === undefined) return { entry, modules, named, first };
    if (modules.has(path)) continue;
    const source = await readModule(path);
    modules.set(path, source);
    if (isFirst) first.push(path);
    for (const name of namesIn(source, STATIC)) {
      const found = importedPath(path, name);
      if (!name.startsWith('.')) named.set(name, found);
      (isFirst ? waiting.first : waiting.later).push(found);
    }
    waiting.later.push(...namesIn(source, DYNAMIC).map((name) => posix.join(posix.dirname(path), name)));
    await setImmediate();
  }
}

/** Leaves out types and comments, which are a sixth of what a browser would load. */
async function readModule(path: string): Promise<string> {
  const text = await readFile(fileOf(path), 'utf8');
  if (path.endsWith('.ts') || COMMENTED.test(path)) return stripTypeScriptTypes(text, { mode: 'transform' });
  return text.replace(/\n\/\/# sourceMappingURL=.*\n?$/, '\n');
}

const namesIn = (source: string, pattern: RegExp): string[] =>
  Array.from(source.matchAll(pattern), ([, name = '']) => name);

/** Returns where a file is, wherever npm put its package. */
export function fileOf(path: string): string {
  const inPackage = /^node_modules\/((?:@[^/]+\/)?[^/]+)\/(.+)$/.exec(path);
  if (inPackage === null) return join(ROOT, path);
  const [, package_ = '', file = ''] = inPackage;
  const manifest = findPackageJSON(package_, import.meta.url);
  if (manifest === undefined) throw new Error(`The package ${package_} is not installed.`);
  return join(dirname(manifest), file);
}

/** Returns the path of a module that another one imports. Throws for an unknown name. */
export const importedPath = (from: string, name: string): string =>
  name.startsWith('.') ? posix.join(posix.dirname(from), name) : pathOfPackageFile(name);

/** Returns the path of a module that is imported by name. Throws for an unknown name. */
function pathOfPackageFile(name: string): string {
  const package_ = WITH_PATHS.find((one) => name.startsWith(`${one}/`));
  const known = package_ === undefined ? PACKAGES[name] : [package_, name.slice(package_.length + 1)];
  if (known === undefined) throw new Error(`The console imports ${name}, which it does not serve.`);
  return `node_modules/${known[0]}/${known[1]}`;
}
