import { execFileSync } from 'node:child_process';
import { readText } from './manifest.ts';

/** Replaces the tools that the instructions call: kubectl prints its arguments, one per line. */
const TOOLS = `
  kubectl() { printf '%s\\n' "$@" '' >&3; }
  openssl() { head -c 32 /dev/urandom | od -A n -v -t x1 | tr -d ' \\n'; }
  docker() { :; }
  kind() { :; }`;

/**
 * Runs the commands of a section of k8s/README.md and returns what they put into secrets, by name
 * and key.
 */
export function instructedSecrets(section: string): Map<string, Record<string, string>> {
  const [, text = ''] = readText('k8s/README.md').split(`\n## ${section}`);
  const [mine] = text.split('\n## ');
  const commands = [...mine!.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block).join('');
  const said = execFileSync('sh', ['-c', `exec 3>&1 >/dev/null\n${TOOLS}\n${commands}`], { encoding: 'utf8' });
  const made = said.split('\n\n').flatMap((call) => {
    const [, , verb, kind, , name, ...values] = call.split('\n');
    if (verb !== 'create' || kind !== 'secret') return [];
    return [[name!, Object.fromEntries(values.map(keyAndValue))] as const];
  });
  return new Map(made);
}

function keyAndValue(argument: string): [string, string] {
  const [, literal, value] = /^--from-literal=([^=]+)=(.*)$/.exec(argument) ?? [];
  const [, file] = /^--from-file=(.+)$/.exec(argument) ?? [];
  if (literal === undefined && file === undefined) throw new Error(`${argument} is no key of a secret`);
  return [literal ?? file!, value ?? ''];
}
