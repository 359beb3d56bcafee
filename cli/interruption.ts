import { constants } from 'node:os';

/** Reason of the command's abort signal. */
export class Interrupted extends Error {
  readonly exitCode: number;

  constructor(signal: 'SIGINT' | 'SIGTERM') {
    super('interrupted');
    this.exitCode = 128 + constants.signals[signal];
  }
}

const controller = new AbortController();

/** Aborts when the user interrupts the command. */
export const commandSignal: AbortSignal = controller.signal;

/**
 * Returns the interruption, if there was one. It is then the cause of whatever a command throws.
 */
export const interruption = (): Interrupted | undefined => commandSignal.reason as Interrupted | undefined;

export const interrupt = (signal: 'SIGINT' | 'SIGTERM'): void => controller.abort(new Interrupted(signal));

/** Aborts `commandSignal` on the first signal, and ends the process on the second. */
export function listenForSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (commandSignal.aborted) process.exit(128 + constants.signals[signal]);
      interrupt(signal);
    });
  }
}
