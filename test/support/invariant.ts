/**
 * Runs `check`. A failed expectation in it means that the product broke a promise (a lost write, a
 * deleted record that is back, a wrong root, an exceeded limit). Its message then starts with
 * INVARIANT, and `test/run.ts` never retries it: a failure in one of three runs is a bug. Other
 * errors, such as a service that did not start, stay unchanged.
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
