import { execFileSync } from 'node:child_process';

/** TypeScript that a script writes, as the linter wants it. */
export function formatted(text: string): string {
  const command = 'node_modules/.bin/biome';
  return execFileSync(command, ['format', '--stdin-file-path=generated.ts'], { input: text, encoding: 'utf8' });
}
