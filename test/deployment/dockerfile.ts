import { readText } from './manifest.ts';

export interface Instruction {
  /** Of the stage that it belongs to; empty before the first. */
  stage: string;
  name: string;
  rest: string;
}

/** The Dockerfile's instructions, each with its continuation lines. */
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

/** Files and folders of the project that an image's stage is made of. */
export function copiedInto(stage: string): string[] {
  const copies = instructions().filter((each) => each.stage === stage && each.name === 'COPY');
  return copies.filter(({ rest }) => !rest.startsWith('--')).flatMap(({ rest }) => rest.split(' ').slice(0, -1));
}
