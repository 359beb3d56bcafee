import { execFile } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { systemCode } from './system-error.ts';

/**
 * Identifies a process uniquely over time: pids are reused, but a pid together with its start time
 * and place is not.
 */
export interface ProcessIdentity {
  pid: number;
  /** Start time, only for comparison; null if the system does not report it. */
  startedAt: string | null;
  /** Where the pid is valid: one boot and one pid namespace of one machine. */
  place: string;
}

export async function ownIdentity(): Promise<ProcessIdentity> {
  return { pid: process.pid, startedAt: await startTime(process.pid), place: await ownPlace() };
}

/**
 * Returns whether the process still runs; 'unknown' if its pid belongs to another machine, boot or
 * container.
 */
export async function isAlive(identity: ProcessIdentity): Promise<boolean | 'unknown'> {
  if (identity.place !== (await ownPlace())) return 'unknown';
  try {
    process.kill(identity.pid, 0);
  } catch (error) {
    if (systemCode(error) === 'ESRCH') return false;
  }
  const startedAt = await startTime(identity.pid);
  return startedAt === null || identity.startedAt === null || startedAt === identity.startedAt;
}

async function ownPlace(): Promise<string> {
  if (process.platform !== 'linux') return hostname();
  // Without /proc, the host name alone tells places apart.
  const [boot, namespace] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    readlink('/proc/self/ns/pid').catch(() => ''),
  ]);
  return `${hostname()} ${boot.trim()} ${namespace}`;
}

async function startTime(pid: number): Promise<string | null> {
  try {
    if (process.platform === 'linux') {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
      // Field 22 is the start time in clock ticks since boot. The command in field 2 may contain
      // spaces and brackets. A zombie counts as ended: it holds nothing any more.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return fields[0] === 'Z' ? 'gone' : (fields[19] ?? null);
    }
    if (process.platform === 'win32') return null;
    const { stdout } = await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)], {
      env: { ...process.env, LC_ALL: 'C' },
    });
    return stdout.trim() || null;
  } catch {
    return null;
  }
}
