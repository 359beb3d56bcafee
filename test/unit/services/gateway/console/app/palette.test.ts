/** The colours of the map, as eyes see them that lack a kind of cones. */
import { describe, expect, test } from '@jest/globals';
import {
  DARK,
  LIGHT,
  rampColour,
} from '../../../../../../services/gateway/console/app/pages/collection/map/palette.ts';

/** Linear colours as eyes see them that lack a kind of cones (Machado 2009). */
const EYES = {
  all: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};
/** Surfaces of `1-tokens.css`. */
const SURFACES = [
  ['light', LIGHT, '#ffffff'],
  ['dark', DARK, '#16191f'],
  ['high contrast', DARK, '#000000'],
] as const;
/** Least contrast of a graphic (WCAG 1.4.11). */
const CONTRAST_MIN = 3;
/** Least distance in CIELAB; 2 is the least that eyes tell apart side by side. */
const DISTANCE_MIN = 14;

const linear = (colour: string) =>
  [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = linear(colour);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [high = 0, low = 0] = [luminance(one), luminance(other)].sort((left, right) => right - left);
  return (high + 0.05) / (low + 0.05);
}

function labOf(colour: string, eyes: readonly number[]): number[] {
  const light = linear(colour);
  const [red, green, blue] = [0, 3, 6].map((row) =>
    Math.min(
      1,
      Math.max(
        0,
        light.reduce((sum, value, at) => sum + value * eyes[row + at]!, 0),
      ),
    ),
  ) as [number, number, number];
  const f = (t: number) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const x = f((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047);
  const y = f(0.2126 * red + 0.7152 * green + 0.0722 * blue);
  const z = f((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

describe.each(SURFACES)('in %s', (_, palette, surface) => {
  const all = [...palette.groups, palette.rest];

  test('colours and gradients stand out from the surface', () => {
    const ramp = Array.from({ length: 33 }, (_, at) => rampColour(palette.ramp, at / 32));
    for (const colour of [...all, ...ramp])
      expect([colour, contrast(colour, surface) >= CONTRAST_MIN]).toEqual([colour, true]);
  });

  test.each(Object.entries(EYES))('the groups differ for eyes with %s', (_, eyes) => {
    const labs = all.map((colour) => labOf(colour, eyes));
    for (const [at, one] of labs.entries())
      for (const [place, other] of labs.slice(0, at).entries()) {
        const distance = Math.hypot(...one.map((value, axis) => value - other[axis]!));
        expect([all[at], all[place], distance >= DISTANCE_MIN]).toEqual([all[at], all[place], true]);
      }
  });

  test('the gradient grows steadily lighter or darker, which every eye sees', () => {
    const steps = Array.from({ length: 33 }, (_, at) => luminance(rampColour(palette.ramp, at / 32)));
    const sorted = [...steps].sort((left, right) => left - right);
    expect([sorted, sorted.toReversed()]).toContainEqual(steps);
    expect(contrast(palette.ramp[0]!, palette.ramp.at(-1)!)).toBeGreaterThan(3);
  });
});
