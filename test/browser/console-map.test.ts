/** The map of a collection, in a real browser: with pointers, with keys, and in each state. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { debianSample } from '../../examples/debian-sample.ts';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { freePorts } from '../support/free-ports.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const MARKUP = '<img src=x onerror="globalThis.wasRun = true">';
interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}
const BATCH = 500;
/** Records of the collection that is larger than a sample. */
const LARGE = 5_200;

let browser: TestBrowser;
let service: ServiceProcess;
let visitor: ConsoleVisitor;

beforeAll(async () => {
  const [port] = await freePorts(1);
  [browser, service] = await Promise.all([startBrowser(), startProcess({ PROVEC_PORT: `${port}` })]);
  await fill('debian', 384, debianSample());
  const corners = [
    { id: 'left', values: [-10, 0], metadata: { side: 'l', rank: 1 } },
    { id: 'right', values: [10, 0], metadata: { side: 'r', rank: 2 } },
    { id: MARKUP, values: [0, 0.4], metadata: { side: 'm', [MARKUP]: `${MARKUP}\u202e` } },
  ];
  await fill('corners', 2, corners, 'euclidean');
  const many = Array.from({ length: LARGE }, (_, at) => ({
    id: `r${`${at}`.padStart(5, '0')}`,
    values: [Math.sin(at), Math.cos(at * 2), at / LARGE, 1],
    metadata: { place: at / 7, ...(at % 2 === 0 && { note: `n${at % 40}` }) },
  }));
  await fill('many', 4, many);
  visitor = new ConsoleVisitor(await browser.open(), () => service.url);
  await visitor.signIn(TEST_KEY);
});
afterAll(async () => {
  await visitor.close();
  await browser.dispose();
  await service.dispose();
});

async function fill(name: string, dimensions: number, records: readonly object[], metric = 'cosine'): Promise<void> {
  await service.api('POST', '/collections', { name, dimensions, metric });
  for (let at = 0; at < records.length; at += BATCH) {
    const part = records.slice(at, at + BATCH);
    expect((await service.api('POST', `/collections/${name}/upsert`, { records: part })).status).toBe(200);
  }
}

async function openMap(collection: string): Promise<void> {
  await visitor.go(`#/collections/${collection}/map`);
  await visitor.page.locator(`h1:has-text("${collection}")`).waitFor();
  await visitor.page.locator('canvas').waitFor();
}

/** Waits until the canvas has something drawn on it, and returns its place, which is in view. */
async function drawnMap(): Promise<Place> {
  return await until('the map is drawn', () =>
    visitor.page.evaluate<Place | null>(`(() => {
      const canvas = document.querySelector('canvas');
      if (canvas === null) return null;
      const blank = document.createElement('canvas');
      [blank.width, blank.height] = [canvas.width, canvas.height];
      if (canvas.toDataURL() === blank.toDataURL()) return null;
      canvas.scrollIntoView({ block: 'center' });
      const { x, y, width, height } = canvas.getBoundingClientRect();
      return { x, y, width, height };
    })()`),
  );
}

describe('the demo’s records', () => {
  test('are points with a legend, a summary and a list', async () => {
    await openMap('debian');
    await visitor.sees('All 2,000 records.');
    await drawnMap();
    await visitor.page.getByLabel('Colour by').selectOption('.section');
    await visitor.sees('Other values');
    await visitor.expectSound('a map');
    await visitor.picture('map', { width: 1200, height: 800, to: '.map-split' });
    await visitor.picture('map-dark', { width: 1200, height: 800, scheme: 'dark', to: '.map-split' });
    await visitor.page.getByText('The records as a list').click();
    await visitor.page.locator('[aria-label="Records of the map"]').waitFor();
    await visitor.expectSound('a map as a list');
    await visitor.page.getByLabel('Axes').selectOption('random');
    await drawnMap();
    await visitor.page.getByLabel('Colour by').selectOption('.size');
    await visitor.page.locator('.map-ramp').waitFor();
    await visitor.expectSound('a map coloured by a number');
    await visitor.page.getByLabel('Colour by').selectOption('');
    await visitor.page.locator('.map-ramp').waitFor({ state: 'hidden' });
  });

  test('are filtered, also down to none', async () => {
    await openMap('debian');
    await visitor.page.getByLabel('Filter').fill('{"section": "database"}');
    await visitor.sees(/^All [1-9]\d? records\./);
    await drawnMap();
    await visitor.page.getByLabel('Filter').fill('{"section": "none"}');
    await visitor.sees('No such records');
    await visitor.expectSound('a map of nothing');
  });
});

describe('a map', () => {
  test('shows what is pointed at, and opens what is clicked', async () => {
    await openMap('corners');
    const { x, y, width, height } = await drawnMap();
    await visitor.page.mouse.move(x + width - 24, y + height / 2);
    await visitor.page.locator('.map-tip:has-text("right")').waitFor();
    await visitor.page.mouse.move(x + width / 3, y + 10);
    await visitor.page.locator('.map-tip').waitFor({ state: 'hidden' });
    // Zoomed in around the left record, the right one is out of view.
    await visitor.page.mouse.move(x + 24, y + height / 2);
    for (let turn = 0; turn < 3; turn++) await visitor.page.mouse.wheel(0, -300);
    await visitor.press('Select all in view');
    await visitor.sees('1 record');
    await visitor.press('Show all');
    await visitor.page.mouse.move(x + 30, y + height / 2);
    await visitor.page.locator('.map-tip:has-text("left")').waitFor();
    await visitor.page.mouse.click(x + 30, y + height / 2);
    await visitor.page.locator('.record-id:has-text("left")').waitFor();
  });

  test('selects with a lasso, and leads to Browse with a filter', async () => {
    await openMap('corners');
    const { x, y, width, height } = await drawnMap();
    await visitor.page.getByRole('button', { name: 'Lasso', exact: true }).click();
    const { mouse } = visitor.page;
    await mouse.move(x + width / 2, y + 4);
    await mouse.down();
    for (const [dx, dy] of [
      [width - 4, 4],
      [width - 4, height - 4],
      [width / 2, height - 4],
    ] as const)
      await mouse.move(x + dx, y + dy);
    await mouse.up();
    await visitor.page.locator('.map-selected li').first().waitFor();
    const selected = await visitor.page.evaluate<string[]>(
      '[...document.querySelectorAll(".map-selected li")].map((one) => one.innerText.trim())',
    );
    expect(selected).toContain('right');
    expect(selected).not.toContain('left');
    await visitor.expectSound('a selection');
    await visitor.press('Filter by them in Browse');
    await visitor.sees(/records? match/);
    expect(await visitor.page.evaluate<string>('document.querySelector("textarea").value')).toContain('"side"');
    await visitor.page.getByRole('link', { name: 'right' }).waitFor();
    expect(await visitor.page.getByRole('link', { name: 'left' }).count()).toBe(0);
  });

  test('is used with the keyboard alone', async () => {
    await openMap('corners');
    await drawnMap();
    const canvas = visitor.page.locator('canvas');
    await canvas.press('n');
    await visitor.page.locator('.map-tip:has-text("<img")').waitFor();
    for (const key of ['+', 'ArrowLeft', 'ArrowDown', '-', '0']) await canvas.press(key);
    await canvas.press('p');
    await visitor.page.locator('.map-tip:has-text("right")').waitFor();
    await visitor.expectSound('a record that the keyboard points at');
    await canvas.press('Enter');
    await visitor.page.locator('.record-id:has-text("right")').waitFor();
  });

  test('of hostile records shows them as text', async () => {
    await openMap('corners');
    await drawnMap();
    await visitor.page.getByLabel('Colour by').selectOption(`.${MARKUP}`);
    await visitor.page.locator('.map-legend .hidden-char').first().waitFor();
    await visitor.press('Select all in view');
    await visitor.sees('3 records');
    await visitor.page.getByText('The records as a list').click();
    await visitor.expectSound('a hostile map');
    expect(await visitor.page.evaluate('globalThis.wasRun')).toBeUndefined();
    expect(await visitor.page.locator('main img').count()).toBe(0);
  });

  test('of many records says how many it shows, and that some have no number', async () => {
    await openMap('many');
    await visitor.sees('5,000 of 5,200 records: the first in the order of their ids.');
    await drawnMap();
    await visitor.page.getByLabel('Colour by').selectOption('.place');
    await visitor.page.locator('.map-ramp').waitFor();
    await visitor.page.getByLabel('Colour by').selectOption('.note');
    await visitor.sees('No value');
    await visitor.expectSound('a map of a sample');
  });
});

describe('a map that cannot be shown', () => {
  test('can be cancelled, and asked for again', async () => {
    await openMap('debian');
    await drawnMap();
    process.kill(service.pid, 'SIGSTOP');
    await visitor.page.getByLabel('Namespace').fill('other');
    await visitor.sees('Loading the map…');
    await visitor.expectSound('a map that loads');
    await visitor.press('Cancel');
    await visitor.sees('Cancelled');
    await visitor.expectSound('a cancelled map');
    process.kill(service.pid, 'SIGCONT');
    await visitor.page.getByLabel('Namespace').fill('');
    await drawnMap();
  });

  test('is refused to a key that may not read', async () => {
    const made = await service.api<{ key: { secret: string } }>('POST', '/keys', { name: 'w', scopes: ['write'] });
    await visitor.press('Sign out');
    await visitor.enter(made.body.key.secret);
    await visitor.go('#/collections/debian/map');
    await visitor.sees('This key may not do that');
    await visitor.expectSound('a refused map');
    await visitor.press('Sign out');
    await visitor.enter(TEST_KEY);
  });

  test('says that the service is away, and comes when it is back', async () => {
    await openMap('many');
    await drawnMap();
    await service.kill('SIGKILL');
    await visitor.page.getByLabel('Axes').selectOption('random');
    await drawnMap();
    await visitor.page.getByLabel('Namespace').fill('other');
    await visitor.sees('The service cannot be reached');
    await visitor.expectSound('a map that failed');
    await service.restart();
    await visitor.press('Try again');
    await visitor.sees('No such records');
    await visitor.page.getByLabel('Namespace').fill('');
    await drawnMap();
  });
});
