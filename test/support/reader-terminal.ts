import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';

/** Printed between the blocks of a program. */
const SEPARATOR = '\u0001';
const PROGRAMS = {
  js: { file: 'program.mts', separator: `\nconsole.log('${SEPARATOR}');\n` },
  python: { file: 'program.py', separator: `\nprint("${SEPARATOR}")\n` },
};

/**
 * A terminal into which a reader pastes the blocks of a page. Variables and the working folder
 * persist between blocks.
 */
export class ReaderTerminal {
  /** Folder where the next block runs. */
  folder: string;
  readonly #state: string;
  readonly #node: string;
  /** Placeholders that the reader replaces, with their replacements. */
  readonly #placeholders = new Map<string, string>();

  readonly #path: string;

  /**
   * `home`: a folder for the terminal's own state. `node`: the Node that the reader has installed;
   * without one, the machine's, and programs run with the one that comes with the checkout in
   * `folder`.
   */
  constructor(home: string, folder: string, node?: string) {
    this.folder = folder;
    this.#state = join(home, 'terminal-state.sh');
    this.#node = node ?? join(folder, 'node_modules/.bin/node');
    const folders = process.env.PATH!.split(delimiter).filter((name) => !/node_modules|node-gyp-bin/.test(name));
    this.#path = [...(node === undefined ? [] : [dirname(node)]), ...folders].join(delimiter);
  }

  /** The user's PATH, without the folders that npm adds in front. */
  get path(): string {
    return this.#path;
  }

  fillIn(placeholder: string, value: string): void {
    this.#placeholders.set(placeholder, value);
  }

  save(name: string, text: string): Promise<void> {
    return writeFile(join(this.folder, name), text);
  }

  /**
   * Runs several blocks of one language and resolves with the stdout of each. Rejects when one
   * fails. `isScript`: shell blocks run as a separate script.
   */
  async run(language: string, blocks: readonly string[], { isScript = false } = {}): Promise<string[]> {
    const texts = blocks.map((text) => this.filledIn(text));
    if (language === 'sh') {
      if (!isScript) return [await this.#paste(texts[0]!)];
      await this.save('program.sh', texts[0]!);
      return [await this.#paste('bash program.sh')];
    }
    const { file, separator } = PROGRAMS[language as keyof typeof PROGRAMS];
    await this.save(file, texts.join(separator));
    const program = language === 'js' ? `'${this.#node}' --disable-warning=ExperimentalWarning` : 'python3';
    return (await this.#paste(`${program} ${file}`)).split(`${SEPARATOR}\n`);
  }

  /** Returns a text with the reader's values in place of the page's placeholders. */
  filledIn(text: string): string {
    return [...this.#placeholders].reduce(
      (filled, [placeholder, value]) => filled.replaceAll(placeholder, value),
      text,
    );
  }

  /** Exports all variables, so that later blocks see them. */
  async #paste(text: string): Promise<string> {
    const before = existsSync(this.#state) ? `. '${this.#state}'` : '';
    const script = `${before}\nset -ae -o pipefail\n${text}\nexport -p > '${this.#state}'`;
    const child = spawn('bash', ['-c', script], {
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      // A network may have an authority of its own, which the Node that npm runs on must know.
      env: { PATH: this.path, HOME: process.env.HOME, NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS },
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      stdout += part;
    });
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      stderr += part;
    });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`${text}\nended with ${code}\n${stdout}\n${stderr}`);
    return stdout;
  }
}
