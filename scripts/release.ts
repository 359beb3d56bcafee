/**
 * `npm run release [-- --out <folder>] [--tag]`: builds everything that a release publishes from
 * the commit that is checked out. Two builds of a commit have the same bytes (docs/release.md).
 * Needs git, tar, and python3 with venv. Publishes nothing; `--tag` makes the git tag.
 */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { billOfMaterials } from './release/bill-of-materials.ts';
import { notesOf } from './release/changelog.ts';
import { buildPython } from './release/python-package.ts';
import { run } from './release/run.ts';
import { stageServer } from './release/server-package.ts';
import { exportHead, type SourceTree } from './release/source-tree.ts';
import { releaseVersion } from './release/version.ts';

const CHECKOUT = fileURLToPath(new URL('..', import.meta.url));
const CHECKSUMS = 'SHA256SUMS';

/** Builds all files of a release into `out`, which must not have files yet. */
async function build({ folder: source, timeS }: SourceTree, work: string, out: string): Promise<string> {
  const version = await releaseVersion(source);
  const notes = notesOf(await readFile(join(source, 'CHANGELOG.md'), 'utf8'), version);
  await mkdir(out, { recursive: true });
  if ((await readdir(out)).length > 0) throw new Error(`${out} is not empty.`);
  const staged = join(work, 'server');
  await stageServer(source, staged);
  const pack = ['pack', '--silent', '--pack-destination', out];
  await run('npm', pack, { cwd: staged });
  await run('npm', pack, { cwd: join(source, 'client') });
  await buildPython(source, { folder: work, out, timeS });
  await writeFile(join(out, `provec-${version}.cdx.json`), await billOfMaterials(staged, timeS));
  await writeFile(join(out, 'RELEASE_NOTES.md'), `# Provec ${version}\n\n${notes}\n`);
  await writeFile(join(out, CHECKSUMS), await checksums(out));
  return version;
}

/** Returns lines that `sha256sum --check` reads. */
async function checksums(folder: string): Promise<string> {
  const lines = (await readdir(folder)).sort().map(async (name) => {
    const hash = createHash('sha256').update(await readFile(join(folder, name)));
    return `${hash.digest('hex')}  ${name}\n`;
  });
  return (await Promise.all(lines)).join('');
}

async function tag(version: string, commit: string): Promise<void> {
  await run('git', ['tag', '--annotate', `v${version}`, '--message', `Provec ${version}`, commit], { cwd: CHECKOUT });
  console.log(`Tagged ${commit.slice(0, 12)} as v${version}. Publish it: git push origin v${version}`);
}

const { values } = parseArgs({ options: { out: { type: 'string' }, tag: { type: 'boolean', default: false } } });
const work = await mkdtemp(join(tmpdir(), 'provec-release-'));
try {
  const source = await exportHead(CHECKOUT, join(work, 'source'));
  const out = resolve(values.out ?? join(CHECKOUT, 'release'));
  const version = await build(source, work, out);
  console.log(`Provec ${version} of commit ${source.commit} in ${out}:\n`);
  console.log(await readFile(join(out, CHECKSUMS), 'utf8'));
  if (values.tag) await tag(version, source.commit);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
} finally {
  await rm(work, { recursive: true, force: true });
}
