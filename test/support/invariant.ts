/**
 * Runs `check`; an expectation that fails in it means that the product broke a promise (a write
 * lost, a record back, a root wrong, a limit passed). Its message then says INVARIANT, and
 * `test/run.ts` never tries that again: what breaks in one run of three is broken. Other errors,
 * such as a service that did not start, stay as they are.
 */
export async function invariant<T>(promise: string, check: () => T | Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    const failure = error as Error & { matcherResult?: unknown };
    if (failure?.matcherResult === undefined) throw error;
    throw new Error(`INVARIANT: ${promise}\n\n${failure.message}`, { cause: error });
  }
}
