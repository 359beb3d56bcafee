/**
 * Data that is hard on a graph index: copies, near-copies, vectors far from the origin, tight
 * clusters, few dimensions, axes, and widely differing lengths.
 */

/** Looked up once, because each use of a jest global is a slow lookup. */
const { cos, exp, floor, log, PI, sqrt } = Math;

export interface VectorShape {
  dimensions: number;
  /** Returns the vectors of `count` records, reproducible by `random`. */
  vectors: (random: () => number, count: number) => Float32Array[];
}

type Make = (row: number) => ArrayLike<number>;

const DIMENSIONS = 24;
const NEAR_GROUPS = 30;
const TIGHT_CLUSTERS = 40;

const gaussFrom = (random: () => number) => () => sqrt(-2 * log(1 - random())) * cos(2 * PI * random());

function shape(dimensions: number, make: (random: () => number, gauss: () => number) => Make): VectorShape {
  return {
    dimensions,
    vectors: (random, count) => {
      const vectorOf = make(random, gaussFrom(random));
      return Array.from({ length: count }, (_, row) => Float32Array.from(vectorOf(row)));
    },
  };
}

const scattered = (dimensions: number, gauss: () => number) => Array.from({ length: dimensions }, gauss);

/** A share of the records has the vector of the same text; the others are scattered. */
const withCopies = (share: number) =>
  shape(DIMENSIONS, (random, gauss) => {
    const copied = scattered(DIMENSIONS, gauss);
    return () => (random() < share ? copied : scattered(DIMENSIONS, gauss));
  });

/** Groups around scattered centres. `apart`: about 1 minus the cosine of two members of a group. */
const groups = (count: number, apart: number) =>
  shape(DIMENSIONS, (_, gauss) => {
    const centers = Array.from({ length: count }, () => scattered(DIMENSIONS, gauss));
    return (row) => centers[row % count]!.map((value) => value + sqrt(apart) * gauss());
  });

const withLengths = (lengthOf: (random: () => number, gauss: () => number) => number) =>
  shape(DIMENSIONS, (random, gauss) => () => {
    const length = lengthOf(random, gauss);
    return scattered(DIMENSIONS, gauss).map((value) => value * length);
  });

export const VECTOR_SHAPES = {
  scattered: withCopies(0),
  '10 % copies': withCopies(0.1),
  '40 % copies': withCopies(0.4),
  '70 % copies': withCopies(0.7),
  'few distinct vectors': shape(DIMENSIONS, (random, gauss) => {
    const distinct = Array.from({ length: 100 }, () => scattered(DIMENSIONS, gauss));
    return () => distinct[floor(random() * distinct.length)]!;
  }),
  'near-copies': groups(NEAR_GROUPS, 0.0002),
  'nearer copies': groups(NEAR_GROUPS, 1e-9),
  'tight clusters': groups(TIGHT_CLUSTERS, 1e-5),
  'offset by 1,000': shape(DIMENSIONS, (_, gauss) => () => scattered(DIMENSIONS, gauss).map((value) => value + 1_000)),
  'two dimensions': shape(2, (_, gauss) => () => scattered(2, gauss)),
  'three dimensions': shape(3, (_, gauss) => () => scattered(3, gauss)),
  'four dimensions': shape(4, (_, gauss) => () => scattered(4, gauss)),
  'one-hot': shape(DIMENSIONS, (random) => () => {
    const axis = floor(random() * DIMENSIONS);
    return Array.from({ length: DIMENSIONS }, (_, at) => (at === axis ? 1 : 0));
  }),
  'near the axes': shape(DIMENSIONS, (random, gauss) => () => {
    const axis = floor(random() * DIMENSIONS);
    return Array.from({ length: DIMENSIONS }, (_, at) => (at === axis ? 1 : 0) + 1e-3 * gauss());
  }),
  'log-normal lengths': withLengths((_, gauss) => exp(1.2 * gauss())),
  'a few a thousand times as long': withLengths((random) => (random() < 0.005 ? 1_000 : 1)),
} satisfies Record<string, VectorShape>;

export type VectorShapeName = keyof typeof VECTOR_SHAPES;
