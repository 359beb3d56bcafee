/**
 * Configures fast-check once per test file, before the file is loaded (`setupFilesAfterEnv` of
 * jest.config.js).
 */
import fc from 'fast-check';
import { propertyRuns } from './effort.ts';
import { seed } from './seed.ts';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed, numRuns: propertyRuns(200) });
