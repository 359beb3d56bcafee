import type { ModuleGraph } from './module-graph.ts';
import { importedPath } from './module-graph.ts';

const IMPORT = /^import\s*(?:([\w$]+)\s*,?\s*)?(?:\{([^}]*)\}|\*\s*as\s+([\w$]+))?\s*(?:from\s*)?["']([^"']+)["'];?/gm;
const EXPORT_LIST = /(^|[;}])export\s*\{([^}]*)\}(?!\s*from);?/gm;
const EXPORT_DEFAULT = /(^|;)export default (?=function\s*\()/gm;
const EXPORT_ONE = /^export ((?:async )?(?:function\*?|class|const|let)\s+([\w$]+))/gm;
/** What this linker does not know, and what would end a script within HTML. */
const LEFT_OVER = /^(?:import|export)\b|\bimport\(|\bimport\.meta\b|<\/script|<!--/m;

/**
 * Returns the modules of a graph as one script, for places where import maps do not work: workers,
 * and files on disk. Each module becomes a function that runs once, after those that it imports.
 * Throws for a module that it cannot link.
 */
export function linkedScript({ modules, entry }: ModuleGraph): string {
  const names = new Map<string, string>();
  const parts: string[] = [];
  const link = (path: string): string => {
    const known = names.get(path);
    if (known !== undefined) return known;
    // Set at the end: modules that import each other would not end here, and none do.
    const text = functionOf(modules.get(path)!, (name) => link(importedPath(path, name)), path);
    const name = `$module${names.size}`;
    names.set(path, name);
    parts.push(`const ${name} = ${text};`);
    return name;
  };
  link(entry);
  return `(() => {\n"use strict";\n${parts.join('\n')}\n})();\n`;
}

function functionOf(source: string, nameOf: (imported: string) => string, path: string): string {
  const exported: string[] = [];
  const body = source
    .replace(IMPORT, (_, one?: string, list?: string, all?: string, from = '') => {
      const name = nameOf(from);
      const parts = [...(one === undefined ? [] : [`default: ${one}`]), ...pairsIn(list).map(([a, b]) => `${a}: ${b}`)];
      return `${all === undefined ? '' : `const ${all} = ${name};`}${parts.length === 0 ? '' : `const { ${parts.join(', ')} } = ${name};`}`;
    })
    .replace(EXPORT_LIST, (_, before: string, list: string) => {
      exported.push(...pairsIn(list).map(([own, other]) => `${other}: ${own}`));
      return before;
    })
    .replace(EXPORT_DEFAULT, (_, before: string) => {
      exported.push('default: $default');
      return `${before}const $default = `;
    })
    .replace(EXPORT_ONE, (_, declaration: string, name: string) => {
      exported.push(name);
      return declaration;
    });
  const left = LEFT_OVER.exec(body);
  if (left !== null) throw new Error(`${path} cannot be linked: it has ${JSON.stringify(left[0])}.`);
  return `(() => {\n${body}\nreturn { ${exported.join(', ')} };\n})()`;
}

/** Returns the names in `a, b as c`, each with its other name. */
const pairsIn = (list = ''): [string, string][] =>
  list
    .split(',')
    .map((item) => item.trim().split(/\s+as\s+/))
    .filter(([own]) => own !== '')
    .map(([own = '', other = own]) => [own, other]);
