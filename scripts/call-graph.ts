import { readdirSync, readFileSync } from 'node:fs';
import { SERVICE_NAMES } from '../process/service-names.ts';

/** An action declared in `contracts/actions/`. */
const DECLARED = /^ {2}'([a-z]+)\.(\w+)': /gm;
const NAMED = /'([a-z]+)\.(\w+)'/g;
/** A service that imports this file makes the calls that the file contains: `planOf`. */
const HELPER = 'contracts/actions/principal.ts';
const IMPORTS_HELPER = /^import \{[^}]*\} from '[./]+\/contracts\/actions\/principal\.ts';$/m;
/** Actions that return numbers for `/metrics` and the console. The graph leaves them out. */
const GAUGES = new Set(['stats']);

const sources = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(`${folder}/${name}`, 'utf8'));

const actions = new Set(
  sources('contracts/actions').flatMap((text) =>
    [...text.matchAll(DECLARED)].map(([, service, name]) => `${service}.${name}`),
  ),
);

/** Returns the services whose actions a text names, gauges excluded. */
function calledIn(text: string): string[] {
  const called = [...text.matchAll(NAMED)].filter(([, service, name]) => actions.has(`${service}.${name}`));
  return called.flatMap(([, service = '', name = '']) => (GAUGES.has(name) ? [] : [service]));
}

/** Returns the calls between services as edges of a Mermaid flowchart. */
export function callEdges(): string {
  const ofHelper = calledIn(readFileSync(HELPER, 'utf8'));
  const edges = SERVICE_NAMES.flatMap((service) => {
    const texts = sources(`services/${service}`);
    const called = new Set(
      texts.flatMap((text) => [...calledIn(text), ...(IMPORTS_HELPER.test(text) ? ofHelper : [])]),
    );
    const others = SERVICE_NAMES.filter((name) => name !== service && called.has(name));
    return others.length === 0 ? [] : [`  ${service} --> ${others.join(' & ')}`];
  });
  return edges.join('\n');
}
