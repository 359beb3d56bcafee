/**
 * `npm run test:long -- <suite> [jest's arguments]`: runs a long suite with a new seed and without
 * retries. Prints the seed, the tests' output, and `N passed, N failed` last. The exit code is 0
 * only when every test passed. PROVEC_TEST_SEED replays a run. `all` runs every suite in turn.
 */
import { randomInt } from 'node:crypto';
import { endWithNpm, failedFiles, runJest, shortName, slowestFiles } from './jest-run.ts';
import { LONG_SUITES, patternOf } from './suites.ts';

const [wanted, ...args] = process.argv.slice(2);
const names = wanted === 'all' ? Object.keys(LONG_SUITES) : [wanted ?? ''];
if (!names.every((name) => name in LONG_SUITES)) {
  console.error(`Which suite? all, ${Object.keys(LONG_SUITES).join(', ')}.`);
  process.exit(2);
}

endWithNpm();
let passed = 0;
let failed = 0;
for (const name of names) {
  const seed = process.env.PROVEC_TEST_SEED ?? String(randomInt(2 ** 31));
  const began = performance.now();
  console.log(`suite ${name}, PROVEC_TEST_SEED=${seed}`);
  const patterns = LONG_SUITES[name]!.map(patternOf);
  const { result, outlived, hung, code } = await runJest(['--runInBand', ...args, '--testPathPatterns', ...patterns], {
    environment: { PROVEC_TEST_LONG: '1', PROVEC_TEST_SEED: seed },
  });
  const problems = (result === null ? [] : failedFiles(result)).map((file) => `failed: ${shortName(file.name)}`);
  if (result === null) problems.push(`jest ended with ${code} before it wrote its result`);
  else if (result.numPassedTests === 0) problems.push('no test was run');
  if (hung) problems.push('jest hung after its last test on an open handle');
  problems.push(...outlived.map((line) => `something outlived its test: ${line}`));
  if (result !== null) console.log(`slowest: ${slowestFiles(result, 5)}`);
  for (const problem of problems) console.log(problem);
  passed += result?.numPassedTests ?? 0;
  failed += Math.max(result?.numFailedTests ?? 0, problems.length);
  console.log(`suite ${name}: after ${((performance.now() - began) / 1000).toFixed(0)} s, seed ${seed}`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
