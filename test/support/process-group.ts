import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const groups = new Set<number>();
process.on('exit', () => {
  for (const group of groups) killGroup(group);
});

/** Kills a process group when this process exits for any reason. */
export function killAtExit(group: number): void {
  groups.add(group);
}

/** Sends SIGKILL to a process group, if it exists. */
export function killGroup(group: number): void {
  groups.delete(group);
  signalIfThere(-group, 'SIGKILL');
}

/** State and command of each process in a group, or of each thread. */
async function inGroup(group: number, ...options: string[]): Promise<{ stat: string; command: string }[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', ...options, '-o', 'pgid=,stat=,command=']);
  return stdout.split('\n').flatMap((line) => {
    const [, pgid, stat, command] = /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    return Number(pgid) === group ? [{ stat: stat!, command: command! }] : [];
  });
}

/**
 * Commands of the group's running processes. Leaves out zombies, and exited processes whose memory
 * the kernel is still freeing: those have no command line, and `ps` prints their names in brackets.
 */
export async function runningIn(group: number): Promise<string[]> {
  const commands = (await inGroup(group)).flatMap(({ stat, command }) => (stat.startsWith('Z') ? [] : [command]));
  return commands.filter((command) => !/^\[.*\]$/.test(command));
}

/** Whether a SIGSTOP has reached every process of a group. Until then some threads still run. */
export async function isHalted(group: number): Promise<boolean> {
  const threads = await inGroup(group, '-L');
  return threads.length > 0 && threads.every(({ stat }) => /^[TZ]/.test(stat));
}

export interface Descendant {
  pid: number;
  command: string;
}

/** All running processes, without zombies. */
async function allRunning(): Promise<(Descendant & { parent: number })[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,stat=,command=']);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, stat, command] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    return stat === undefined || stat.startsWith('Z')
      ? []
      : [{ pid: Number(pid), parent: Number(parent), command: command! }];
  });
}

/** All descendants of a process. */
export async function descendantsOf(pid: number): Promise<Descendant[]> {
  const all = await allRunning();
  const of = (parent: number): Descendant[] =>
    all.filter((each) => each.parent === parent).flatMap((each) => [each, ...of(each.pid)]);
  return of(pid);
}

export async function stillRunning(processes: readonly Descendant[]): Promise<Descendant[]> {
  const all = await allRunning();
  return processes.filter(({ pid, command }) => all.some((each) => each.pid === pid && each.command === command));
}

/**
 * Sends a signal to a process, or to a group given as a negative number. Does nothing when it is
 * gone.
 */
export function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
