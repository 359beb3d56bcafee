import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { PROVEC } from './command-line.ts';

export interface StdioBridge {
  /** Sends a line and returns the next line of the bridge, as JSON. */
  ask(line: string): Promise<object>;
  send(lines: string): void;
  /** Ends stdin and returns the exit code. */
  end(): Promise<number>;
}

/** Starts `provec mcp` with these environment variables, for lines that no client would send. */
export function startBridge(environment: Record<string, string>): StdioBridge {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, ...environment };
  const child = spawn(process.execPath, [PROVEC, 'mcp'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async ask(line) {
      child.stdin.write(line);
      const { value } = await lines.next();
      return JSON.parse(value as string) as object;
    },
    send: (text) => void child.stdin.write(text),
    async end() {
      child.stdin.end();
      const [code] = await ended;
      return code as number;
    },
  };
}
