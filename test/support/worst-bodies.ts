import type { ApiDocument, Json } from './api-document.ts';

/** Values by the names of members: a schema does not say which are the costliest. */
export type WorstValues = Readonly<Record<string, unknown>>;

interface Schema {
  $ref?: string;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  type?: string;
  enum?: unknown[];
  const?: unknown;
  maximum?: number;
  maxItems?: number;
  maxLength?: number;
  maxProperties?: number;
}

/** Members that may not stand beside the one that an alternative requires. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  filter: ['values'],
  updates: ['setMetadata', 'unsetMetadata', 'dryRun'],
};

/** Makes the largest bodies that a document's schemas allow. */
export class WorstBodies {
  readonly #document: ApiDocument;
  readonly #values: WorstValues;

  constructor(document: ApiDocument, values: WorstValues) {
    this.#document = document;
    this.#values = values;
  }

  /** Returns a body for each alternative of the schema (`ids`, `filter`, ...). */
  of(schema: Json): unknown[] {
    const whole = this.#resolved(schema);
    const alternatives = whole.oneOf ?? whole.anyOf ?? [];
    const chosen = alternatives.filter(({ required = [] }) => required.length > 0);
    if (chosen.length === 0) return [this.#object(whole, [])];
    const names = chosen.flatMap(({ required }) => required!);
    return chosen.map(({ required }) =>
      this.#object(whole, [...names.filter((name) => !required!.includes(name)), ...(BESIDE[required![0]!] ?? [])]),
    );
  }

  #resolved(schema: Schema): Schema {
    return schema.$ref === undefined ? schema : (this.#document.resolve(schema.$ref) as Schema);
  }

  #object({ properties = {} }: Schema, without: readonly string[]): Json {
    const names = Object.keys(properties).filter((name) => !without.includes(name));
    const members = names.map((name) => [name, this.#member(name, properties[name]!)]);
    return Object.fromEntries(members.filter(([, value]) => value !== undefined)) as Json;
  }

  #member(name: string, schema: Schema): unknown {
    if (schema.maxProperties === 0) return undefined;
    if (Object.hasOwn(this.#values, name)) return this.#values[name];
    const whole = this.#resolved(schema);
    if (whole.const !== undefined) return whole.const;
    if (whole.enum !== undefined) return whole.enum[0];
    if (whole.type === 'object') return this.#object(whole, []);
    if (whole.type === 'array')
      return Array.from({ length: whole.maxItems ?? 1 }, () => this.#member('', whole.items!));
    if (whole.type === 'integer' || whole.type === 'number') return whole.maximum;
    if (whole.type === 'boolean') return true;
    return whole.type === 'string' ? 'x'.repeat(Math.min(whole.maxLength ?? 8, 64)) : undefined;
  }
}
