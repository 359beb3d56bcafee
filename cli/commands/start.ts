import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { examples } from '../option-values.ts';

const LAUNCH = fileURLToPath(new URL('../../launch.ts', import.meta.url));
/** Settings of this command; the service refuses to start with variables that it does not know. */
const OWN_VARIABLES = ['PROVEC_API_KEY', 'PROVEC_PROFILE'];

export const startCommand = (): Command =>
  new Command('start')
    .description('run the service in the foreground, as npm start does')
    .argument('[services...]', 'services to run, such as services/gateway; all by default')
    .option('--repl', 'open the console of the running service')
    .addHelpText('after', examples('provec start', 'PROVEC_PORT=8090 PROVEC_DATA_DIR=/tmp/provec provec start'))
    .action((services: string[], { repl }: { repl?: boolean }) => start([...services, ...(repl ? ['--repl'] : [])]));

/** Replaces this process with the service, which then gets all signals and sets the exit code. */
async function start(args: string[]): Promise<void> {
  const environment = { ...process.env };
  for (const name of OWN_VARIABLES) delete environment[name];
  const command = ['--disable-warning=ExperimentalWarning', LAUNCH, ...args];
  if (process.platform !== 'win32' && process.execve !== undefined)
    process.execve(process.execPath, [process.execPath, ...command], environment as Record<string, string>);
  const child = spawn(process.execPath, command, { env: environment, stdio: 'inherit' });
  process.exitCode = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGTERM']));
  });
}
