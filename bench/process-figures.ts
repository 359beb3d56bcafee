import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** Resident memory of a process in MiB (Linux). */
export function residentMiB(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1];
  return Number(kib) / 1024;
}

/** Memory that the process allocated itself, without file mappings, in MiB (Linux). */
export function anonymousMiB(pid: number): number {
  const kib = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1];
  return Number(kib) / 1024;
}

/** User and system CPU time of a process in seconds, over all threads (Linux). */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/**
 * Starts a watch. The returned function gives the share of the machine's CPU time since then that
 * its host gave to other guests (Linux).
 */
export function stolenShare(): () => number {
  const read = () => {
    const fields = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.split(/\s+/).slice(1, 9).map(Number);
    return { stolen: fields[7]!, total: fields.reduce((sum, ticks) => sum + ticks, 0) };
  };
  const before = read();
  return () => {
    const now = read();
    return (now.stolen - before.stolen) / Math.max(1, now.total - before.total);
  };
}

/** The machine that the figures are of. */
export const machineText = (): string => `${cpus().length} x ${cpus()[0]!.model}, Node ${process.version}`;
