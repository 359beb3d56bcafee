/**
 * A real Chromium, driven by playwright-core, and axe, which looks for barriers. Neither is a
 * dependency of the project: npm installs them into a folder of the test.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from '@jest/globals';
import { type Installed, installFolder } from '../clients/installed.ts';

const PACKAGES = ['playwright-core@1.65.1', 'axe-core@4.14.1'];
const CHROMIUM = '/usr/bin/chromium';

/** What the tests use of Playwright's locators. */
interface Locator {
  click(): Promise<void>;
  fill(text: string): Promise<void>;
  check(): Promise<void>;
  selectOption(value: string): Promise<unknown>;
  setInputFiles(path: string): Promise<void>;
  getAttribute(name: string): Promise<string | null>;
  waitFor(options?: { state?: 'visible' | 'hidden' }): Promise<void>;
  textContent(): Promise<string | null>;
  isDisabled(): Promise<boolean>;
  count(): Promise<number>;
  first(): Locator;
  press(key: string): Promise<void>;
  boundingBox(): Promise<Box | null>;
}

/** A place on a page in pixels. */
interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** What the tests use of a page. */
export interface BrowserPage {
  goto(url: string): Promise<unknown>;
  reload(): Promise<unknown>;
  url(): string;
  getByRole(role: string, options?: { name?: string | RegExp; exact?: boolean }): Locator;
  getByLabel(text: string | RegExp, options?: { exact?: boolean }): Locator;
  getByText(text: string | RegExp, options?: { exact?: boolean }): Locator;
  locator(selector: string): Locator;
  evaluate<T>(expression: string): Promise<T>;
  waitForLoadState(state: 'networkidle'): Promise<void>;
  screenshot(options: { path: string; clip?: object }): Promise<unknown>;
  setViewportSize(size: { width: number; height: number }): Promise<void>;
  emulateMedia(media: {
    colorScheme?: Scheme;
    reducedMotion?: 'reduce';
    contrast?: 'more' | 'no-preference';
  }): Promise<void>;
  /** Time as the page sees it, from the next document on. */
  clock: { install(): Promise<void>; runFor(ms: number): Promise<void> };
  keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
  mouse: {
    move(x: number, y: number): Promise<void>;
    down(): Promise<void>;
    up(): Promise<void>;
    click(x: number, y: number): Promise<void>;
    wheel(x: number, y: number): Promise<void>;
  };
  on(event: 'console', listener: (message: { type(): string; text(): string }) => void): void;
  on(event: 'pageerror', listener: (error: Error) => void): void;
  on(event: 'request', listener: (request: { url(): string }) => void): void;
  close(): Promise<void>;
}

export type Scheme = 'light' | 'dark';

interface BrowserContext {
  newPage(): Promise<BrowserPage>;
  waitForEvent(event: 'page'): Promise<BrowserPage>;
  close(): Promise<void>;
}

interface Chromium {
  newContext(options: object): Promise<BrowserContext>;
  close(): Promise<void>;
}

export interface TestBrowser {
  /** Opens a page that notes what goes wrong in it. It may ask `allowed` origins, too. */
  open(allowed?: () => readonly string[]): Promise<Visit>;
  dispose(): Promise<void>;
}

/** A page, and what went wrong in it. */
export interface Visit {
  readonly page: BrowserPage;
  /** Messages of the browser: errors, warnings, breaches of the policy, other origins. */
  readonly faults: string[];
  /** Resolves with the page that a link opens next. */
  nextPage(): Promise<BrowserPage>;
  /** Expects that axe finds nothing, and that nothing is wider than the page. */
  expectSound(what: string): Promise<void>;
  close(): Promise<void>;
}

/** The browser reports each answer of an error; pages show those on purpose. */
const ANSWERED_WITH_ERROR = /^Failed to load resource: /;

/** Starts the browser. Rejects if npm or Chromium is missing. */
export async function startBrowser(): Promise<TestBrowser> {
  const installed: Installed = await installFolder();
  await installed.fromNpm(...PACKAGES);
  const modules = join(installed.folder, '0', 'node_modules');
  const { chromium } = (await import(pathToFileURL(join(modules, 'playwright-core/index.mjs')).href)) as {
    chromium: { launch(options: object): Promise<Chromium> };
  };
  const axe = await readFile(join(modules, 'axe-core/axe.min.js'), 'utf8');
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  return {
    open: (allowed = () => []) => openVisit(browser, axe, allowed),
    async dispose() {
      await browser.close();
      await installed.dispose();
    },
  };
}

async function openVisit(browser: Chromium, axe: string, allowed: () => readonly string[]): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
  const page = await context.newPage();
  const faults: string[] = [];
  let origin = '';
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !ANSWERED_WITH_ERROR.test(message.text()))
      faults.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', ({ message }) => faults.push(`thrown: ${message}`));
  page.on('request', (request) => {
    const { protocol, origin: asked } = new URL(request.url());
    origin ||= asked;
    if (/^https?:$/.test(protocol) && asked !== origin && !allowed().includes(asked))
      faults.push(`request to ${request.url()}`);
  });
  return {
    page,
    faults,
    nextPage: () => context.waitForEvent('page'),
    async expectSound(what) {
      const found = await page.evaluate<string[]>(barriers(axe));
      const tooWide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      expect({ what, found, tooWide: Math.max(tooWide, 0), faults }).toEqual({
        what,
        found: [],
        tooWide: 0,
        faults: [],
      });
    },
    close: () => context.close(),
  };
}

/** Returns an expression that runs axe and gives one line for each barrier. */
const barriers = (axe: string): string => `(() => {
  if (globalThis.axe === undefined) { const module = undefined; const exports = undefined; ${axe} }
  return globalThis.axe.run(document, {}).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 160))));
})()`;
