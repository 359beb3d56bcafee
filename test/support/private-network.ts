import { execFile } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { promisify } from 'node:util';

const run = promisify(execFile);

async function ip(...words: string[]): Promise<void> {
  await run('ip', words);
}

interface Plot {
  namespace: string;
  /** Name of the link's end on this machine. */
  link: string;
  host: string;
}

/**
 * Network namespaces for processes, each with its own virtual link to this machine that can be cut.
 * Needs permission to create namespaces.
 */
export class PrivateNetwork {
  readonly #name = randomBytes(3).toString('hex');
  /** A random block of the private range, so that runs do not collide. */
  readonly #block = `10.${randomInt(64, 256)}.${randomInt(256)}`;
  readonly #plots = new Map<string, Plot>();

  /** Creates a namespace; at most 60. */
  async add(id: string): Promise<void> {
    const number = this.#plots.size;
    const namespace = `provec-${this.#name}-${number}`;
    const link = `pv${this.#name}${number}`;
    const inner = `${link}i`;
    const host = `${this.#block}.${number * 4 + 1}`;
    this.#plots.set(id, { namespace, link, host });
    await ip('netns', 'add', namespace);
    await ip('link', 'add', link, 'type', 'veth', 'peer', 'name', inner, 'netns', namespace);
    await ip('addr', 'add', `${host}/30`, 'dev', link);
    await ip('link', 'set', link, 'up');
    await ip('-n', namespace, 'addr', 'add', `${this.#block}.${number * 4 + 2}/30`, 'dev', inner);
    await ip('-n', namespace, 'link', 'set', inner, 'up');
    await ip('-n', namespace, 'link', 'set', 'lo', 'up');
  }

  /** Command that runs a process in a namespace. */
  under(id: string): readonly string[] {
    return ['ip', 'netns', 'exec', this.#plots.get(id)!.namespace];
  }

  /** This machine's address as seen from a namespace. */
  hostOf(id: string): string {
    return this.#plots.get(id)!.host;
  }

  /** Drops all packets on the link without notifying either end. */
  cut(id: string): Promise<void> {
    return ip('link', 'set', this.#plots.get(id)!.link, 'down');
  }

  async mend(id: string): Promise<void> {
    await ip('link', 'set', this.#plots.get(id)!.link, 'up');
  }

  async end(): Promise<void> {
    for (const { namespace } of this.#plots.values()) await ip('netns', 'del', namespace).catch(() => undefined);
  }
}
