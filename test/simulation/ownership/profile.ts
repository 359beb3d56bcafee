import { type NetworkFaults, NO_FAULTS } from './simulated-network.ts';

/** Faults that a run may contain; each ends by itself after a while. */
export type FaultKind =
  | 'kill'
  | 'pause'
  | 'cut'
  | 'storm'
  | 'worker lost'
  | 'rest'
  | 'materialise'
  | 'save'
  | 'move'
  | 'leave'
  | 'join'
  | 'failover'
  | 'stand-still'
  | 'stuck writes'
  | 'end of lease'
  | 'spoil'
  | 'shed';

const TROUBLES: FaultKind[] = [
  'kill',
  'pause',
  'cut',
  'storm',
  'worker lost',
  'rest',
  'materialise',
  'save',
  'move',
  'leave',
  'join',
  'failover',
  'stand-still',
  'stuck writes',
];
/** Faults that affect copies only. */
const COPY_TROUBLES: FaultKind[] = ['spoil', 'shed'];

/**
 * Parameters of one run. A few kinds of trouble at a time find more than all of them at once (swarm
 * testing, Groce et al. 2012).
 */
export interface Profile {
  name: string;
  troubleMs: number;
  /** Longest time between two faults. */
  restMaxMs: number;
  troubles: FaultKind[];
  nodes: number;
  /** Number of shards of the collection; a power of two. */
  shards: number;
  /** Copies per shard. */
  replicas: number;
  /** Whether the collection is deleted at the end. */
  isDropped: boolean;
  clients: number;
  /** Longest time between two requests of a client. */
  thinkMaxMs: number;
  /** Rates of the nodes' clocks, in order. Nodes beyond the list draw theirs. */
  rates: number[];
  /** Delays and losses of store calls. */
  wire: NetworkFaults;
  storm: NetworkFaults;
  /** Delays and losses of messages between clients and nodes. */
  line: NetworkFaults;
  /** Longest time until a majority has a write. */
  lagMaxMs: number;
  /** Time that a worker takes per request. */
  workMs: number;
  /** Whether shards pretend to be large enough for checkpoints, which are slow to simulate. */
  checkpoints: boolean;
}

const STORM: NetworkFaults = { ...NO_FAULTS, loss: 0.1, slow: 0.15, slowMaxMs: 12_000, usualMaxMs: 80 };
const NOISE: NetworkFaults = { ...STORM, twice: 0.2, failure: 0.1 };

type Draw = <T>(choices: readonly T[]) => T;
type Kind = (draw: Draw) => Partial<Profile>;

/** Kinds of runs; each is as frequent as its number of entries here. */
const KINDS: [name: string, kind: Kind][] = [
  [
    'everything',
    (draw) => ({
      troubles: [...TROUBLES, ...COPY_TROUBLES],
      storm: NOISE,
      troubleMs: 20_000,
      shards: draw([1, 2]),
      replicas: draw([0, 1, 2]),
    }),
  ],
  ['swarm', swarm],
  ['swarm', swarm],
  ['swarm', swarm],
  ['end of lease', endOfLease],
  ['end of lease', endOfLease],
  ['copies', copies],
  ['copies', copies],
  ['shards', severalShards],
  ['shards', severalShards],
  ['copies made anew', copiesMadeAnew],
  ['copies in failover', copiesInFailover],
  ['stuck writes', () => ({ troubles: ['stuck writes'], nodes: 2, troubleMs: 16_000, restMaxMs: 2_000 })],
  [
    'pauses',
    (draw) => ({ troubles: ['pause', 'pause', draw(['kill', 'cut', 'rest']), 'materialise'], restMaxMs: 3_000 }),
  ],
  [
    'unknown outcomes',
    (draw) => ({
      troubles: ['move', 'save', 'materialise', 'rest', draw(['kill', 'pause', 'worker lost'])],
      wire: { ...NO_FAULTS, failure: draw([0.02, 0.1]), loss: 0.01, slow: 0.03, slowMaxMs: 6_000 },
      restMaxMs: 800,
    }),
  ],
  ['late writes', lateWrites],
  ['late writes', lateWrites],
  [
    'failover',
    (draw) => ({
      troubles: ['failover', 'stand-still', 'stand-still', draw(['kill', 'pause', 'failover']), 'move', 'materialise'],
      lagMaxMs: draw([0, 20, 500]),
      restMaxMs: 3_500,
      troubleMs: 16_000,
    }),
  ],
  [
    'moves',
    (draw) => ({
      troubles: ['move', 'move', 'leave', 'join', 'save', 'rest', 'materialise', draw(['kill', 'pause', 'move'])],
      restMaxMs: 700,
      troubleMs: 10_000,
    }),
  ],
  [
    'bad line',
    (draw) => ({
      troubles: ['move', 'rest', 'pause', draw(['kill', 'cut'])],
      line: { ...NO_FAULTS, loss: 0.05, twice: 0.5, slow: 0.3, slowMaxMs: draw([500, 3_000]) },
      clients: 3,
    }),
  ],
];

/**
 * Copies are created, read, corrupted and taken over from, while the nodes that they follow come
 * and go.
 */
function copies(draw: Draw): Partial<Profile> {
  const troubles = TROUBLES.filter(() => draw([true, false, false, false]));
  return {
    troubles: [...troubles, ...COPY_TROUBLES, 'kill', 'materialise', draw(['move', 'leave'])],
    nodes: 3,
    replicas: draw([1, 1, 2]),
    isDropped: draw([true, false, false, false]),
    restMaxMs: draw([800, 2_500]),
    thinkMaxMs: draw([50, 100, 300]),
    wire: draw([
      NO_FAULTS,
      { ...NO_FAULTS, slow: 0.1, slowMaxMs: 1_000 },
      { ...NO_FAULTS, twice: 0.2 },
      { ...NO_FAULTS, failure: 0.1 },
    ]),
    line: draw([
      NO_FAULTS,
      NO_FAULTS,
      { ...NO_FAULTS, loss: 0.05, twice: 0.3, slow: 0.2, slowMaxMs: 1_000 },
      { ...NO_FAULTS, loss: 0.4, slow: 0.3, slowMaxMs: 3_000 },
    ]),
    lagMaxMs: draw([0, 50]),
    workMs: draw([0, 2, 10]),
  };
}

/** Copies are dropped and rebuilt from records that are being written. */
function copiesMadeAnew(draw: Draw): Partial<Profile> {
  return {
    troubles: ['shed', 'shed', 'materialise', 'materialise', draw(['spoil', 'kill', 'worker lost', 'save'])],
    nodes: draw([2, 3]),
    replicas: draw([1, 2]),
    restMaxMs: draw([300, 1_500]),
    thinkMaxMs: draw([50, 100]),
    wire: { ...NO_FAULTS, slow: draw([0.1, 0.4]), slowMaxMs: draw([200, 1_000]), failure: draw([0, 0.1]) },
    workMs: draw([0, 2, 10]),
  };
}

/** Nodes hold several shards, lose one and keep the others, and hand them over together. */
function severalShards(draw: Draw): Partial<Profile> {
  return {
    troubles: ['move', 'leave', 'join', 'rest', 'materialise', draw(['worker lost', 'cut']), draw(['kill', 'pause'])],
    nodes: draw([2, 3]),
    shards: draw([2, 2, 4]),
    replicas: draw([0, 1]),
    clients: 3,
    restMaxMs: 900,
    troubleMs: 10_000,
  };
}

/** Copies are read while a failover takes back the primary's newest entries. */
function copiesInFailover(draw: Draw): Partial<Profile> {
  return {
    troubles: ['failover', 'stand-still', draw(['kill', 'pause', 'move']), 'materialise'],
    nodes: 3,
    replicas: draw([1, 2]),
    lagMaxMs: draw([20, 500]),
    restMaxMs: 1_500,
    thinkMaxMs: 100,
    workMs: draw([0, 2]),
  };
}

export function profileOf(random: () => number): Profile {
  const draw: Draw = (choices) => choices[Math.floor(random() * choices.length)]!;
  const [name, kind] = draw(KINDS);
  return {
    name,
    troubleMs: 12_000,
    restMaxMs: 2_500,
    troubles: [],
    nodes: draw([2, 3, 3]),
    shards: 1,
    replicas: 0,
    isDropped: false,
    clients: draw([2, 3]),
    thinkMaxMs: draw([150, 300, 800]),
    rates: [0.9, 1, 1.1].toSorted(() => random() - 0.5),
    wire: NO_FAULTS,
    storm: STORM,
    line: NO_FAULTS,
    lagMaxMs: 0,
    workMs: draw([0, 0, 2]),
    checkpoints: draw([false, false, false, true]),
    ...kind(draw),
  };
}

function swarm(draw: Draw): Partial<Profile> {
  const troubles = TROUBLES.filter(() => draw([true, false]));
  return {
    troubles: [...troubles, 'materialise'],
    shards: draw([1, 1, 1, 2]),
    restMaxMs: draw([500, 2_500]),
    wire: draw([NO_FAULTS, NO_FAULTS, { ...NO_FAULTS, slow: 0.1, slowMaxMs: 3_000 }, { ...NO_FAULTS, twice: 0.2 }]),
    storm: draw([STORM, NOISE]),
    line: draw([NO_FAULTS, NO_FAULTS, { ...NO_FAULTS, slow: 0.1, slowMaxMs: 2_000 }]),
    lagMaxMs: draw([0, 0, 100]),
  };
}

/**
 * The holder's clock is slow and the other nodes' clocks are fast. Responses to the holder's
 * renewals are delayed; later no renewal arrives.
 */
function endOfLease(draw: Draw): Partial<Profile> {
  return { troubles: ['end of lease'], nodes: 2, rates: [0.9, 1.1], troubleMs: 14_000, thinkMaxMs: draw([100, 200]) };
}

/** A node's writes arrive again, or arrive for the first time, after others have written. */
function lateWrites(draw: Draw): Partial<Profile> {
  return {
    troubles: ['materialise', 'materialise', 'materialise', draw(['move', 'rest']), draw(['save', 'move'])],
    wire: { ...NO_FAULTS, twice: 0.5, slow: draw([0.1, 0.3]), slowMaxMs: draw([500, 2_000]) },
    restMaxMs: 400,
    clients: 2,
    thinkMaxMs: 100,
  };
}
