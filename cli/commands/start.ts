import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { examples } from '../option-values.ts';

/** `.ts` in a checkout, `.js` in the built package. */
const LAUNCH = fileURLToPath(new URL(`../../launch${extname(import.meta.url)}`, import.meta.url));

export const startCommand = (): Command =>
  new Command('start')
    .description('run the service in the foreground, as npm start does')
    .argument('[services...]', 'services to run, such as services/gateway; all by default')
    .option('--repl', 'open the console of the running service')
    .option('--env-file <file>', 'file with settings, as provec init writes it; the environment overrides it')
    .addHelpText(
      'after',
      examples(
        'provec start',
        'provec init service && provec start --env-file service/provec.env',
        'PROVEC_PORT=8090 PROVEC_DATA_DIR=/tmp/provec provec start',
      ),
    )
    .action((services: string[], { repl, envFile }: { repl?: boolean; envFile?: string }) => {
      if (envFile !== undefined) process.loadEnvFile(envFile);
      return start([...services, ...(repl ? ['--repl'] : [])]);
    });

/** Replaces this process with the service, which then gets all signals and sets the exit code. */
async function start(args: string[]): Promise<void> {
  const command = ['--disable-warning=ExperimentalWarning', LAUNCH, ...args];
  if (process.platform !== 'win32' && process.execve !== undefined)
    process.execve(process.execPath, [process.execPath, ...command], process.env as Record<string, string>);
  const child = spawn(process.execPath, command, { stdio: 'inherit' });
  process.exitCode = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGTERM']));
  });
}
