import { execFileSync } from 'node:child_process';
import { WIDTH, wrapText } from '../markdown.ts';

/** Formats generated TypeScript with the project's formatter, and wraps long comments. */
export function formatTypeScript(text: string): string {
  const command = 'node_modules/.bin/biome';
  const options = ['format', '--stdin-file-path=generated.ts'];
  const formatted = execFileSync(command, options, { input: text, encoding: 'utf8' });
  return formatted.replaceAll(/^( *)\/\*\* (.*) \*\/$/gm, (comment, indent: string, prose: string) => {
    if (comment.length <= WIDTH) return comment;
    const lines = wrapText(prose, WIDTH - indent.length - ' * '.length).split('\n');
    return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`), `${indent} */`].join('\n');
  });
}
