/**
 * `npm test [-- jest's arguments]`: runs the gate's tests. Prints `N passed, N failed` last. The
 * exit code is 0 only when every test passed.
 *
 * A failed file is retried once, alone. A file that passes then is reported as UNSTEADY and belongs
 * on the list in docs/testing.md; one that fails again fails the run. A failure whose message
 * contains the word INVARIANT (a lost write, a wrong root, an exceeded limit) is never retried, and
 * neither are more than a few files: those failures are not accidental.
 */
import { endWithNpm, failedFiles, runJest, shortName, slowestFiles, temporaryFolder } from './jest-run.ts';

const RETRIED_MAX = 3;

endWithNpm();
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const temporary = temporaryFolder();
const began = performance.now();
const problems: string[] = [];
const outlived: string[] = [];
let passed = 0;
let failed = 1;

/** Retries the files and corrects `passed` and `failed` by the outcome. */
async function again(names: string[]): Promise<void> {
  console.log(`\ntrying again, alone: ${names.map(shortName).join(' ')}\n`);
  const { result } = await runJest(['--runInBand', '--runTestsByPath', ...names], { temporary });
  const still = result === null ? names : failedFiles(result).map(({ name }) => name);
  for (const name of names.filter((each) => !still.includes(each)))
    console.log(`UNSTEADY: ${shortName(name)} failed, then passed alone: onto the list in docs/testing.md`);
  problems.push(...still.map((name) => `failed twice: ${shortName(name)}`));
  const stillFailed = result?.numFailedTests ?? failed;
  passed += failed - stillFailed;
  failed = stillFailed;
}

const workers = `--maxWorkers=${process.env.PROVEC_TEST_WORKERS ?? 2}`;
const run = await runJest([workers, ...process.argv.slice(2)], { temporary });
if (run.result === null) {
  problems.push(`jest ended with ${run.code} before it wrote its result: a crash, or process.exit in a test`);
} else {
  const { result } = run;
  passed = result.numPassedTests;
  failed = result.numFailedTests;
  const red = failedFiles(result);
  const isBroken = red.some(({ message }) => message.includes('INVARIANT'));
  if (passed + failed === 0)
    problems.push('no test of the gate was run; those of the long suites: npm run test:long -- <suite>');
  else if (isBroken || red.length > RETRIED_MAX) problems.push(...red.map(({ name }) => `failed: ${shortName(name)}`));
  else if (red.length > 0) await again(red.map(({ name }) => name));
  else if (run.code !== 0 && !run.hung) outlived.push(`every test passed but jest ended with ${run.code}`);
  console.log(`slowest: ${slowestFiles(result, 8)}`);
}
if (run.hung) problems.push('jest hung after its last test on an open handle (--detectOpenHandles names it)');
for (const line of [...run.outlived, ...outlived]) console.log(`UNSTEADY: something outlived its test: ${line}`);
for (const problem of problems) console.log(problem);
console.log(`after ${seconds(performance.now() - began)}`);
console.log(`${passed} passed, ${Math.max(failed, problems.length)} failed`);
process.exit(problems.length > 0 ? 1 : 0);
