/** Schemas of arguments that several tools have. Short, because they fill an agent's context. */
import type { JsonSchema } from '../../../../lib/json/schema.ts';
import { INTERNAL_LIMITS } from '../../../../lib/limits.ts';

export const TEXT: JsonSchema = { type: 'string' };
export const NUMBERS: JsonSchema = { type: 'array', items: { type: 'number' } };
export const OBJECT: JsonSchema = { type: 'object' };
export const IDS: JsonSchema = { type: 'array', items: TEXT, maxItems: INTERNAL_LIMITS.mcpIdsMax };
export const FILTER: JsonSchema = { type: 'object', description: 'As in search.' };
/** Namespaces are rare, so the schema has no description. */
export const NAMESPACE: JsonSchema = { type: 'string' };
export const countTo = (maximum: number): JsonSchema => ({ type: 'integer', minimum: 1, maximum });
