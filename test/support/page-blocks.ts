import { readFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url);
const FENCED = /^```(\w+)((?: [\w.-]+)*)\n([\s\S]*?)^```$/gm;
/** Follows the language of a block that cannot run as printed, before its name. */
const NOT_RUN = 'not-run';

/** A fenced block with a language. Its name is unique among the blocks of that language. */
export interface PageBlock {
  readonly page: string;
  readonly language: string;
  /** Null when the block's output does not matter. */
  readonly name: string | null;
  readonly isRun: boolean;
  readonly text: string;
}

/** Blocks of a page, in order. */
export const blocksOf = (page: string): PageBlock[] =>
  Array.from(readFileSync(new URL(page, ROOT), 'utf8').matchAll(FENCED), ([, language, info, text]) => {
    const words = info!.trim().split(' ');
    const isRun = words[0] !== NOT_RUN;
    const name = (isRun ? words[0] : words[1]) || null;
    return { page, language: language!, name, isRun, text: text! };
  });
