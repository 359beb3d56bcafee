import { matchesGlob } from 'node:path';
import { readText } from './manifest.ts';

export interface Instruction {
  /** The stage that the instruction belongs to; empty before the first stage. */
  stage: string;
  name: string;
  rest: string;
}

/** The Dockerfile's instructions, with continuation lines joined. */
export function instructions(): Instruction[] {
  let stage = '';
  const text = readText('Dockerfile')
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, name, rest] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
      if (name === undefined) throw new Error(`not an instruction of a Dockerfile: ${line}`);
      if (name === 'FROM') stage = rest.split(' ').at(-1)!;
      return { stage, name, rest };
    });
}

/**
 * Lock-file paths of the packages that an image's stage keeps, without development dependencies.
 */
export function packagesOf(stage: string): string[] {
  const runs = instructions().filter((each) => each.stage === stage && each.name === 'RUN');
  const removed = runs.flatMap(({ rest }) => /rm -rf ([^&]+)/.exec(rest)?.[1]?.trim().split(' ') ?? []);
  const { packages } = JSON.parse(readText('package-lock.json')) as { packages: Record<string, { dev?: boolean }> };
  return Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path]) => path)
    .filter((path) => !removed.some((pattern) => matchesGlob(path, pattern) || matchesGlob(path, `${pattern}/**`)));
}

/** Files and folders of the project that a stage copies. */
export function copiedInto(stage: string): string[] {
  const copies = instructions().filter((each) => each.stage === stage && each.name === 'COPY');
  return copies.filter(({ rest }) => !rest.startsWith('--')).flatMap(({ rest }) => rest.split(' ').slice(0, -1));
}
