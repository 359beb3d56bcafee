import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from './free-ports.ts';
import { killAtExit, killGroup } from './process-group.ts';

/** A real redis-server on 127.0.0.1 without persistence. Tests can kill, halt and restart it. */
export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  /** Starts the server again on its port. */
  restart(): Promise<void>;
  /** Stops the server from answering until `resume`, with its connections open. */
  halt(): void;
  resume(): void;
  dispose(): Promise<void>;
}

async function launch(port: number, settings: string[]): Promise<ChildProcess> {
  const memoryOnly = ['--save', '', '--appendonly', 'no'];
  const child = spawn('redis-server', ['--port', `${port}`, '--bind', '127.0.0.1', ...memoryOnly, ...settings], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child, 'spawn');
  killAtExit(child.pid!);
  let output = '';
  await new Promise<void>((resolve, reject) => {
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes('Ready to accept connections')) resolve();
    });
    child.once('exit', () => reject(new Error(`redis-server ended: ${output}`)));
  });
  return child;
}

/** Starts redis-server (from Debian's package of that name) on a free port. */
export async function startRedis(...settings: string[]): Promise<RedisServer> {
  const port = await freePort();
  let child = await launch(port, settings);
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    killGroup(child.pid!);
    await ended;
  };
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    kill,
    async restart() {
      await kill();
      child = await launch(port, settings);
    },
    halt: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    dispose: kill,
  };
}
