import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { notesOf } from '../../../scripts/release/changelog.ts';
import { type Lockfile, lockfileOf } from '../../../scripts/release/locked-packages.ts';
import { releaseVersion } from '../../../scripts/release/version.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

describe('the changelog', () => {
  const CHANGELOG =
    '# Changelog\n\n## Unreleased\n\n## 1.1.0 - 2026-12-01\n\n### Added\n\n* B\n\n## 1.0.0 - 2026-11-01\n\n* A\n';

  test.each([
    ['1.1.0', '### Added\n\n* B'],
    ['1.0.0', '* A'],
  ])('has a part about %s', (version, notes) => {
    expect(notesOf(CHANGELOG, version)).toBe(notes);
  });

  test.each([
    ['1.1', 'no part'],
    ['2.0.0', 'no part'],
    ['Unreleased', 'does not date'],
  ])('has none to publish about %s', (version, complaint) => {
    expect(() => notesOf(CHANGELOG, version)).toThrow(complaint);
  });
});

test('this version is the same everywhere, and the changelog has a part about it', async () => {
  const version = await releaseVersion(ROOT);
  expect(notesOf(await readFile(`${ROOT}CHANGELOG.md`, 'utf8'), version)).not.toBe('');
});

describe('locked packages', () => {
  const LOCK: Lockfile = {
    name: 'all',
    version: '1.0.0',
    lockfileVersion: 3,
    packages: {
      '': {},
      'node_modules/a': {
        version: '1.0.0',
        dev: true,
        dependencies: { b: '1' },
        optionalDependencies: { absent: '1' },
      },
      'node_modules/b': { version: '1.0.0', dependencies: { c: '1' } },
      'node_modules/a/node_modules/b': { version: '1.5.0', dependencies: { c: '1' } },
      'node_modules/a/node_modules/@s/d': { version: '3.0.0' },
      'node_modules/c': {
        version: '1.0.0',
        peerDependencies: { e: '1', f: '1' },
        peerDependenciesMeta: { f: { optional: true } },
      },
      'node_modules/e': { version: '1.0.0' },
      'node_modules/f': { version: '1.0.0' },
    },
  };

  test('are those that a package needs, where Node finds them', () => {
    const { packages } = lockfileOf(LOCK, { a: '^1' });
    expect(packages[''] as object).toEqual({ name: 'all', version: '1.0.0', dependencies: { a: '^1' } });
    expect(Object.keys(packages)).toEqual([
      '',
      'node_modules/a',
      'node_modules/a/node_modules/b',
      'node_modules/c',
      'node_modules/e',
    ]);
    expect(packages['node_modules/a']).not.toHaveProperty('dev');
  });

  test('of the service are all that are not for development alone', async () => {
    const lock = JSON.parse(await readFile(`${ROOT}package-lock.json`, 'utf8')) as Lockfile;
    const { dependencies } = JSON.parse(await readFile(`${ROOT}package.json`, 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const needed = Object.keys(lockfileOf(lock, dependencies).packages);
    const isOwnNode = (place: string) => /^node_modules\/node-(linux|darwin|win|bin)/.test(place);
    const production = Object.entries(lock.packages).filter(([, entry]) => !entry.dev && !entry.devOptional);
    expect(production.map(([place]) => place).filter((place) => !needed.includes(place) && !isOwnNode(place))).toEqual(
      [],
    );
  });

  test('lack a package that was never installed', () => {
    expect(() => lockfileOf(LOCK, { absent: '1' })).toThrow('package-lock.json has no package absent.');
  });
});
