/** A JSON Schema (2020-12) as OpenAPI 3.1 uses it. Other keywords may have any value. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: JsonSchemas;
  readonly patternProperties?: JsonSchemas;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly allOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly [keyword: string]: unknown;
}

export type JsonSchemas = Readonly<Record<string, JsonSchema>>;

export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
