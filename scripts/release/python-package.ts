import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './run.ts';

/** Exact versions, since the builder writes its own into the wheel. */
const BUILDERS = ['build==1.6.1', 'hatchling==1.33.0'];

/** Builds the sdist and the wheel of the Python client into `out`, with `folder` for its work. */
export async function buildPython(
  source: string,
  { folder, out, timeS }: { folder: string; out: string; timeS: number },
): Promise<void> {
  const builder = join(folder, 'builder');
  const package_ = join(folder, 'package');
  await cp(join(source, 'python'), package_, { recursive: true });
  await run('python3', ['-m', 'venv', builder], { cwd: folder });
  await run(join(builder, 'bin/pip'), ['install', '--quiet', ...BUILDERS], { cwd: folder });
  await run(join(builder, 'bin/python'), ['-m', 'build', '--no-isolation', '--outdir', out, package_], {
    cwd: folder,
    environment: { SOURCE_DATE_EPOCH: `${timeS}` },
  });
}
