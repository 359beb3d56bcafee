import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Writes a generated file. With `--check` among the arguments it only compares the text with the
 * existing file, and sets exit code 1 on a difference.
 */
export function writeOrCompare(file: string | URL, text: string, command: string): void {
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`${file} is not what its source says; run: ${command}`);
    process.exitCode = 1;
  }
}
