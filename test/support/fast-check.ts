/**
 * fast-check with this run's seed and number of cases. jest.config.js puts it in place of the
 * package, so that only files with properties load it.
 */
import fc from '../../node_modules/fast-check/lib/fast-check.js';
import { propertyRuns } from './effort.ts';
import { seed } from './seed.ts';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed, numRuns: propertyRuns(200) });

export default fc;
