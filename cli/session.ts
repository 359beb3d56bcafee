import type { Command } from 'commander';
import type { Collection, Provec, ProvecOperator, RequestOptions } from '../client/index.ts';
import { clientOf, operatorOf } from './client.ts';
import { commandSignal } from './interruption.ts';
import { jsonLine } from './output/json.ts';
import { write } from './output/streams.ts';
import { ADMIN_TOKEN, API_KEY, connectionOf, type GlobalOptions } from './settings.ts';

/** What a command works with: its options, the client, and stdout. */
export class Session {
  readonly options: GlobalOptions;
  /** Passed to every request; aborts when the user interrupts the command. */
  readonly request: RequestOptions & { signal: AbortSignal } = { signal: commandSignal };

  constructor(options: GlobalOptions) {
    this.options = options;
  }

  get isJson(): boolean {
    return this.options.json === true;
  }

  /** Returns a client for the chosen service. Its warnings go to stderr. */
  async client(): Promise<Provec> {
    return clientOf(await connectionOf(this.options, API_KEY));
  }

  /** Returns a client for the operator of that service. */
  async operator(): Promise<ProvecOperator> {
    return (await this.operatorAt()).operator;
  }

  /** Returns the same, the service's address and the operator's token. */
  async operatorAt(): Promise<{ operator: ProvecOperator; url: string; token: string }> {
    const connection = await connectionOf(this.options, ADMIN_TOKEN);
    return { operator: operatorOf(connection), url: connection.url, token: connection.secret };
  }

  async collection(name: string): Promise<Collection> {
    return (await this.client()).collection(name);
  }

  /** Prints a result: the document with `--json`, else the lines for people. */
  async print(document: object, lines: () => readonly string[]): Promise<void> {
    await write(this.isJson ? jsonLine(document) : `${lines().join('\n')}\n`);
  }
}

/**
 * Returns the action of a command. `run` gets the command's arguments and options, and returns the
 * exit code, or nothing for 0.
 */
export function inSession<A extends unknown[]>(
  run: (session: Session, ...args: A) => Promise<number> | Promise<void>,
): (...args: [...A, Command]) => Promise<void> {
  return async (...args) => {
    const command = args.at(-1) as Command;
    const session = new Session(command.optsWithGlobals<GlobalOptions>());
    process.exitCode = (await run(session, ...(args.slice(0, -1) as A))) ?? 0;
  };
}
