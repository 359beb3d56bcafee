import { execFileSync } from 'node:child_process';

/** Formats generated TypeScript with the project's formatter. */
export function formatTypeScript(text: string): string {
  const command = 'node_modules/.bin/biome';
  return execFileSync(command, ['format', '--stdin-file-path=generated.ts'], { input: text, encoding: 'utf8' });
}
