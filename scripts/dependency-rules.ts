/**
 * Checks imports against `.dependency-cruiser.cjs`, prints each breach and exits 1 if there is any.
 * Also exits 1 when the cruiser did not see every module: without a supported parser it sees none
 * and reports no violations.
 */
import { execFileSync } from 'node:child_process';

const ROOMS = ['services', 'contracts', 'store', 'transport', 'mixins', 'repl', 'process', 'lib'];
const ROOTS = ['launch.ts', 'start.ts', 'provec.ts', 'moleculer.config.ts', ...ROOMS, 'client', 'cli'];
const OUTPUT_MAX_BYTES = 256 * 1024 * 1024;

interface Cruised {
  modules: { source: string; dependencies: unknown[] }[];
  summary: { violations: { from: string; to: string; rule: { name: string; severity: string } }[] };
}

function run(command: string, args: string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', maxBuffer: OUTPUT_MAX_BYTES });
}

const args = ['--config', '.dependency-cruiser.cjs', '--no-progress', '--output-type', 'json', ...ROOTS];
const { modules, summary } = JSON.parse(run('node_modules/.bin/depcruise', args)) as Cruised;
const seen = new Map(modules.map(({ source, dependencies }) => [source, dependencies.length]));
const wanted = run('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...ROOTS])
  .split('\n')
  .filter((name) => name.endsWith('.ts'));

const breaches = summary.violations.map(({ from, to, rule }) => `${rule.name}: ${from} -> ${to}`);
breaches.push(...wanted.filter((name) => !seen.has(name)).map((name) => `${name}: not seen by dependency-cruiser`));
if (![...seen.values()].some((count) => count > 0))
  breaches.push('dependency-cruiser sees no imports: is @swc/core there?');
for (const name of ['start.ts', 'provec.ts', 'services/gateway/gateway.service.ts'])
  if (!seen.get(name)) breaches.push(`${name}: dependency-cruiser sees none of its imports`);
for (const breach of breaches) console.error(breach);
console.log(
  breaches.length === 0 ? `${wanted.length} modules keep to who may import whom` : `${breaches.length} breaches`,
);
process.exitCode = breaches.length === 0 ? 0 : 1;
