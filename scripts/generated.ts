import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Writes a generated file; with `--check` among the arguments only compares it with what is there,
 * and has the process exit with 1 on a difference.
 */
export function generated(file: string | URL, text: string, command: string): void {
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`${file} is not what its source says; run: ${command}`);
    process.exitCode = 1;
  }
}
