/** Expectations that hold for each of our OpenAPI documents. */
import { expect } from '@jest/globals';
import type { ApiDocument, Json } from './api-document.ts';

/** Expects that every reference resolves and every component is used. */
export function expectWholeReferences(document: ApiDocument): void {
  const references = new Set(document.references);
  for (const reference of references)
    expect([reference, document.resolve(reference)]).toEqual([reference, expect.any(Object)]);
  for (const [place, entries] of Object.entries(document.json.components)) {
    if (place === 'securitySchemes') continue;
    for (const name of Object.keys(entries)) expect(references).toContain(`#/components/${place}/${name}`);
  }
}

/** Expects that all schemas are valid JSON Schema 2020-12. */
export function expectKnownSchemas(document: ApiDocument): void {
  for (const schema of Object.values(document.json.components.schemas)) document.compile(schema as Json);
  for (const { operation } of document.operations) {
    for (const { content } of [operation.requestBody ?? {}, ...Object.values(operation.responses)]) {
      for (const { schema } of Object.values(content ?? {})) document.compile(schema);
    }
  }
}

/**
 * Expects unique operation ids, correct path parameters, known authentication and tags, and
 * described responses.
 */
export function expectWholeOperations(document: ApiDocument): void {
  const ids = document.operations.map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  const schemes = Object.keys(document.json.components.securitySchemes);
  const tags = (document.json.tags as { name: string }[]).map(({ name }) => name);
  for (const { path, operation } of document.operations) {
    const parameters = (operation.parameters ?? []).map(
      (parameter) => (parameter.$ref ? document.resolve(parameter.$ref as string) : parameter) as Json,
    );
    for (const parameter of parameters) expect(parameter).toHaveProperty('schema');
    const inPath = parameters.filter((parameter) => parameter.in === 'path');
    expect(inPath.map(({ name, required }) => [name, required])).toEqual(
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, true]),
    );
    for (const requirement of operation.security)
      expect(schemes).toEqual(expect.arrayContaining(Object.keys(requirement)));
    for (const { description } of Object.values(operation.responses)) expect(description).toMatch(/\S/);
    expect(tags).toEqual(expect.arrayContaining(operation.tags));
    expect(operation.tags).toHaveLength(1);
  }
}
