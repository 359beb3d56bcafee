/** Modules as one script: each form of import and export, and what the linker refuses. */
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { linkedScript } from '../../../../../services/gateway/console/linked-script.ts';

const graphOf = (modules: Readonly<Record<string, string>>) => ({
  entry: 'a/entry.ts',
  modules: new Map(Object.entries(modules)),
  named: new Map<string, string>(),
  first: [],
});

function resultOf(modules: Readonly<Record<string, string>>): unknown {
  const context = { result: undefined as unknown };
  runInNewContext(linkedScript(graphOf(modules)), context);
  return context.result;
}

test('every form of import and export is linked, and each module runs once', () => {
  const modules = {
    'a/entry.ts': [
      "import one, { two as zwei, three } from './list.ts';",
      "import * as all from '../b/declared.ts';",
      "import './side.ts';",
      'globalThis.result = [one(), zwei, three, all.made(), new all.Made().name, all.LATER, [...all.steps()], globalThis.ran];',
    ].join('\n'),
    'a/list.ts': 'var t=2,u=3;export{t as two,u as three};export default function(){return 1}',
    'a/side.ts': "import { made } from '../b/declared.ts';\nglobalThis.ran = (globalThis.ran ?? 0) + made();",
    'b/declared.ts': [
      'export function made() { return 4; }',
      "export class Made { name = 'made'; }",
      'export const LATER = 5;',
      'export function* steps() { yield 6; }',
    ].join('\n'),
  };
  expect(JSON.stringify(resultOf(modules))).toBe('[1,2,3,4,"made",5,[6],4]');
});

test('a module is strict, and keeps its names to itself', () => {
  const modules = {
    'a/entry.ts': "import { own } from './b.ts';\nconst name = 'entry';\nglobalThis.result = [own, name];",
    'a/b.ts': "const name = 'b';\nexport const own = name;",
  };
  expect(JSON.stringify(resultOf(modules))).toBe('["b","entry"]');
  expect(() => resultOf({ 'a/entry.ts': 'undeclared = 1;' })).toThrow('undeclared is not defined');
});

test.each([
  ["const later = import('./b.ts');", 'import('],
  ['const here = import.meta.url;', 'import.meta'],
  ["export * from './b.ts';", 'export'],
  ['const text = "</script>";', '</script'],
])('%s is refused', (source, left) => {
  expect(() => resultOf({ 'a/entry.ts': source, 'a/b.ts': '' })).toThrow(
    `a/entry.ts cannot be linked: it has ${JSON.stringify(left)}.`,
  );
});
