import type { Plane, PlaneMethod, VectorRows } from './plane.ts';

/** What the worker of the map is asked for. */
export interface PlaneRequest extends VectorRows {
  method: PlaneMethod;
  /** Whether only the directions of the vectors matter. */
  isNormalised: boolean;
}

/** Messages of the worker: how far it came, then the plane. */
export type PlaneMessage = { kind: 'progress'; share: number } | ({ kind: 'done' } & Plane);
