import { readFile } from 'node:fs/promises';
import { parseEnv } from 'node:util';
import { InputError } from '../../client/cli/json-file.ts';

const LOOPBACK = '127.0.0.1';
const DEFAULT_PORT = 8080;

/** The service's settings (docs/configuration.md), as far as this machine has them. */
export class ServiceSettings {
  readonly #variables: Readonly<Record<string, string | undefined>>;

  private constructor(variables: Readonly<Record<string, string | undefined>>) {
    this.#variables = variables;
  }

  /**
   * Reads the environment, which overrides the file given with `--env-file`, as for `provec start`.
   */
  static async read(envFile: string | undefined): Promise<ServiceSettings> {
    const kept = envFile === undefined ? {} : parseEnv(await readFile(envFile, 'utf8'));
    return new ServiceSettings({ ...kept, ...process.env });
  }

  /** Returns a variable; undefined if it is unset or empty. */
  get(name: string): string | undefined {
    return this.#variables[name]?.trim() || undefined;
  }

  /** Returns the address on which a gateway with these settings listens. */
  ownUrl(): string {
    const host = this.get('PROVEC_HOST') ?? LOOPBACK;
    const reached = host === '0.0.0.0' || host === '::' ? LOOPBACK : host;
    const scheme = this.get('PROVEC_TLS_CERT') === undefined ? 'http' : 'https';
    return `${scheme}://${reached.includes(':') ? `[${reached}]` : reached}:${this.get('PROVEC_PORT') ?? DEFAULT_PORT}`;
  }

  /** Returns the value of a variable that may be in a file. Throws InputError. */
  async secret(name: string): Promise<string | undefined> {
    const file = this.get(`${name}_FILE`);
    if (file === undefined) return this.get(name);
    try {
      return (await readFile(file, 'utf8')).trim();
    } catch (error) {
      throw new InputError(`${name}_FILE cannot be read (${(error as NodeJS.ErrnoException).code}).`);
    }
  }
}
