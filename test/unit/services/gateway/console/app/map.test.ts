/** The pure parts of the map: its plane, its colours, its view and its filters. */
import { describe, expect, test } from '@jest/globals';
import {
  colouringBy,
  fieldsOf,
  firstField,
} from '../../../../../../services/gateway/console/app/pages/collection/map/colouring.ts';
import { MARKERS, markerPath } from '../../../../../../services/gateway/console/app/pages/collection/map/marker.ts';
import { normalise, planeOf } from '../../../../../../services/gateway/console/app/pages/collection/map/plane.ts';
import type { FieldValue } from '../../../../../../services/gateway/console/app/pages/collection/map/sample-record.ts';
import { filterFor } from '../../../../../../services/gateway/console/app/pages/collection/map/selection-filter.ts';
import {
  fitted,
  nearestPoint,
  pointsInside,
  zoomed,
} from '../../../../../../services/gateway/console/app/pages/collection/map/viewport.ts';

const rowsOf = (rows: readonly (readonly number[])[]) => ({
  values: Float32Array.from(rows.flat()),
  dimensions: rows[0]!.length,
});
const record = (id: string, fields: Readonly<Record<string, FieldValue>>) => ({
  id,
  fields: new Map(Object.entries(fields)),
});
const silent = () => undefined;

describe('the plane', () => {
  test('has the axes of most variance, as computed by hand', () => {
    // The covariance of these is diagonal in (1, 1, 0)/√2, (1, -1, 0)/√2 and (0, 0, 1).
    const r = Math.SQRT1_2;
    const rows = [4, -4]
      .map((x) => [x * r, x * r, 0])
      .concat(
        [2, -2].map((y) => [y * r, -y * r, 0]),
        [
          [0, 0, 1],
          [0, 0, -1],
        ],
      );
    const { points, shares } = planeOf(rowsOf(rows), 'principal', silent);
    const expected = [4, 0, -4, 0, 0, 2, 0, -2, 0, 0, 0, 0];
    for (const [at, value] of expected.entries()) expect(points[at]).toBeCloseTo(value, 4);
    expect(shares[0]).toBeCloseTo(32 / 42, 5);
    expect(shares[1]).toBeCloseTo(8 / 42, 5);
  });

  test('does not depend on where the vectors lie, and explains all of a plane', () => {
    const wave = (at: number, shift: number) =>
      Array.from(
        { length: 40 },
        (_, place) => shift + Math.sin(at) * Math.cos(place) + Math.cos(at * 3) * Math.sin(place * 2),
      );
    const rows = Array.from({ length: 200 }, (_, at) => wave(at, 0));
    const moved = Array.from({ length: 200 }, (_, at) => wave(at, 5));
    const plane = planeOf(rowsOf(rows), 'principal', silent);
    expect(plane.shares[0] + plane.shares[1]).toBeCloseTo(1, 4);
    const other = planeOf(rowsOf(moved), 'principal', silent);
    for (let at = 0; at < plane.points.length; at++) expect(other.points[at]).toBeCloseTo(plane.points[at]!, 2);
  });

  test('shows more variance than a random one, which is the same each time', () => {
    const rows = Array.from({ length: 300 }, (_, at) =>
      Array.from({ length: 24 }, (_, place) => Math.sin(at * 12.9898 + place * 78.233) * (24 - place)),
    );
    const sum = ({ shares }: { shares: readonly number[] }) => shares[0]! + shares[1]!;
    const random = planeOf(rowsOf(rows), 'random', silent);
    expect(sum(planeOf(rowsOf(rows), 'principal', silent))).toBeGreaterThan(sum(random) * 1.5);
    expect(planeOf(rowsOf(rows), 'random', silent).points).toEqual(random.points);
  });

  test.each([
    [[[1, 2, 3]]],
    [[[1], [2], [4]]],
    [
      [
        [7, 7],
        [7, 7],
        [7, 7],
      ],
    ],
    [
      [
        [0, 0, 0],
        [0, 0, 0],
      ],
    ],
  ])('of %j has numbers alone', (rows) => {
    for (const method of ['principal', 'random'] as const) {
      const { points, shares } = planeOf(rowsOf(rows), method, silent);
      expect([...points, ...shares].every(Number.isFinite)).toBe(true);
    }
  });

  test('of directions forgets the lengths', () => {
    const rows = rowsOf([
      [3, 4],
      [0, 0],
      [0, -2],
    ]);
    normalise(rows);
    for (const [at, value] of [0.6, 0.8, 0, 0, 0, -1].entries()) expect(rows.values[at]).toBeCloseTo(value, 6);
  });
});

describe('the colours of a field', () => {
  const records = [
    ...Array.from({ length: 12 }, (_, at) =>
      record(`a${at}`, { kind: at < 8 ? 'x' : 'y', size: at, name: `n${at}`, is: true }),
    ),
    record('b', { kind: 'z' }),
    record('c', {}),
  ];

  test('are those of its most frequent values, and a ring for none', () => {
    const colouring = colouringBy('kind', records);
    if (colouring.kind !== 'groups') throw new Error('not groups');
    expect(colouring.groups.map(({ value, kind, count }) => [value?.is, kind, count])).toEqual([
      ['x', 'value', 8],
      ['y', 'value', 4],
      ['z', 'value', 1],
      [undefined, 'missing', 1],
    ]);
    expect([...colouring.groupOf]).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 3]);
  });

  test('of many values are seven, and one for the others', () => {
    const colouring = colouringBy('name', records);
    if (colouring.kind !== 'groups') throw new Error('not groups');
    expect(colouring.groups.map(({ kind }) => kind)).toEqual([...Array(7).fill('value'), 'other', 'missing']);
    expect(colouring.groups.reduce((sum, { count }) => sum + count, 0)).toBe(records.length);
  });

  test('of numbers are a gradient', () => {
    const colouring = colouringBy('size', records);
    if (colouring.kind !== 'numbers') throw new Error('not numbers');
    expect([colouring.least, colouring.most, colouring.missing]).toEqual([0, 11, 2]);
    expect([colouring.shareOf[0], colouring.shareOf[11]]).toEqual([0, 1]);
    const wide = Array.from({ length: 7 }, (_, at) => record(`${at}`, { n: (at - 3) * 5e307 }));
    const extreme = colouringBy('n', wide);
    if (extreme.kind !== 'numbers') throw new Error('not numbers');
    expect([...extreme.shareOf].every((share) => share >= 0 && share <= 1)).toBe(true);
  });

  test('begin with the field that has few values', () => {
    expect(firstField(fieldsOf(records))).toBe('kind');
    expect(firstField(fieldsOf([record('a', { id: 1 })]))).toBe('');
    expect(colouringBy('', records)).toEqual({ kind: 'plain' });
    expect(fieldsOf([record('a', { toString: 1 }), { id: 'b', fields: new Map([['__proto__', 'x']]) }]).size).toBe(2);
  });

  test('have a shape each, also in the legend', () => {
    const paths = MARKERS.map((marker) => markerPath(marker, 5));
    expect(new Set(paths).size).toBe(7);
    for (const path of paths) expect(path).toMatch(/^M[-\d. MLAZhv]+$/);
  });
});

describe('the view', () => {
  const points = Float32Array.from([0, 0, 10, 0, 10, 5, 0, 5]);
  const size = { width: 448, height: 348 };

  test('has all points in it, and keeps the place that is zoomed at', () => {
    const view = fitted(points, size);
    expect(view).toEqual({ scale: 40, left: 24, top: 74 });
    const near = zoomed(view, 2, 24, 74, view);
    expect(near).toEqual({ scale: 80, left: 24, top: 74 });
    expect(zoomed(view, 1e9, 0, 0, view).scale).toBe(40 * 400);
    expect(zoomed(view, 1e-9, 0, 0, view).scale).toBe(20);
    expect(fitted(Float32Array.from([3, 3]), size)).toEqual({ scale: 1, left: 221, top: 171 });
    expect(fitted(new Float32Array(0), size).scale).toBe(1);
  });

  test('finds the nearest point and those in a lasso', () => {
    const view = fitted(points, size);
    expect(nearestPoint(points, view, 30, 80, 12)).toBe(0);
    expect(nearestPoint(points, view, 200, 170, 12)).toBe(-1);
    expect(pointsInside(points, view, [0, 0, 448, 0, 448, 100, 0, 100])).toEqual([0, 1]);
    // Its hull would have the third point, too.
    expect(pointsInside(points, view, [0, 0, 448, 0, 448, 348, 400, 20, 0, 348])).toEqual([0, 1, 3]);
    expect(pointsInside(points, view, [])).toEqual([]);
  });
});

describe('the filter of a selection', () => {
  const many = Array.from({ length: 60 }, (_, at) =>
    record(`${at}`, { n: at, t: `t${at}`, one: 'a', two: at % 2 === 0, empty: null }),
  );
  test.each([
    ['one', { one: 'a' }],
    ['two', { two: { $in: [true, false] } }],
    ['n', { n: { $gte: 0, $lte: 59 } }],
    ['empty', { empty: null }],
    ['t', null],
    ['none', null],
    ['', null],
    ['$x', null],
  ])('by %s', (field, filter) => {
    expect(filterFor(field, many)).toEqual(filter);
  });
});
