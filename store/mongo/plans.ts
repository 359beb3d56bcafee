import type { Collection } from 'mongodb';
import type { PlanName } from '../../lib/plans.ts';
import type { PlanRow, StoredPlans } from '../plans.ts';
import type { Sealed } from '../sealed.ts';
import type { Connection } from './connection.ts';
import { rowIn } from './document-form.ts';
import { type IdPart, idPart } from './document-id.ts';

export interface PlanDocument {
  _id: IdPart;
  row: Sealed<PlanRow>;
}

export class MongoPlans implements StoredPlans {
  readonly #plans: Collection<PlanDocument>;

  constructor(connection: Connection) {
    this.#plans = connection.collection('plans');
  }

  async find(name: PlanName): Promise<Sealed<PlanRow> | null> {
    const found = await this.#plans.findOne({ _id: idPart(name) });
    return found && rowIn(found);
  }

  async list(): Promise<Sealed<PlanRow>[]> {
    return (await this.#plans.find({}).sort({ 'row.name': 1 }).toArray()).map(rowIn);
  }

  async put({ name, limits, seal }: Sealed<PlanRow>): Promise<void> {
    await this.#plans.updateOne({ _id: idPart(name) }, { $set: { row: { name, limits, seal } } }, { upsert: true });
  }

  async remove(name: PlanName, limits?: string): Promise<boolean> {
    const filter = { _id: idPart(name), ...(limits !== undefined && { 'row.limits': limits }) };
    return (await this.#plans.deleteOne(filter)).deletedCount > 0;
  }
}
