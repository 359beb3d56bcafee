#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
/**
 * `provec`, the command line of Provec (docs/cli.md). Compiled code is cached, as in `launch.ts`:
 * compiling takes more than half the processor time of a short command.
 */
import { mkdirSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const NODE_MIN = 24;
if (Number.parseInt(process.versions.node, 10) < NODE_MIN) {
  console.error(`provec needs Node ${NODE_MIN} or newer; this is Node ${process.versions.node}.`);
  process.exit(2);
}

const CACHE = fileURLToPath(new URL('../node_modules/.cache/provec', import.meta.url));
try {
  mkdirSync(CACHE, { recursive: true });
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE ?? CACHE);
} catch {
  // In a read-only installation the command only starts more slowly.
}
const { main } = await import('./main.ts');
await main(process.argv.slice(2));
