/**
 * A filter made ready to be worked out for 32 neighbouring slots at a time, a bit each. Negations
 * are pushed down to the conditions, and what is asked of one field at one place becomes one test
 * of the field's row.
 *
 * A part is worked out only for the slots that are still in question: those that all parts of an
 * `and` before it left, or that no part of an `or` before it matched.
 */
import type { FilterNode } from '../../../../lib/filter/ast.ts';
import { Conditions } from './conditions.ts';
import type { FieldRows, RowTest } from './field-rows.ts';

type Condition = { op: 'condition'; conditions: Conditions; bit: number; holds: boolean };
type Draft = Condition | { op: 'and' | 'or'; parts: Draft[] };

interface Test extends RowTest {
  op: 'test';
  of: FieldRows;
}
type Part = Test | { op: 'and' | 'or'; parts: Part[] };

/** The conditions of a filter by field, and how they hang together. */
export class FilterDraft {
  readonly conditions = new Map<string, Conditions>();
  readonly #root: Draft;

  constructor(filter: FilterNode) {
    this.#root = this.#draft(filter, true);
  }

  /** `rowsOf`: where the rows of each field come from. */
  plan(rowsOf: ReadonlyMap<Conditions, FieldRows>): FilterPlan {
    return new FilterPlan(planned(this.#root, rowsOf), this.conditions.size);
  }

  #draft(node: FilterNode, holds: boolean): Draft {
    switch (node.op) {
      case 'not':
        return this.#draft(node.node, !holds);
      case 'and':
      case 'or': {
        const op = holds === (node.op === 'and') ? 'and' : 'or';
        const parts = node.nodes.map((part) => this.#draft(part, holds));
        return { op, parts: parts.flatMap((part) => (part.op === op ? part.parts : [part])) };
      }
      default: {
        const conditions = this.conditions.get(node.field) ?? new Conditions();
        this.conditions.set(node.field, conditions);
        return { op: 'condition', conditions, bit: conditions.add(node), holds };
      }
    }
  }
}

export class FilterPlan {
  /** About how many nanoseconds it takes to work out one word, beside what the rows take. */
  readonly wordNs: number;
  readonly #root: Part;

  constructor(root: Part, fields: number) {
    this.#root = root;
    this.wordNs = 50 + testsOf(root) * 100 + fields * 100;
  }

  /** Those of the slots set in `mask` of this word that match. */
  match(word: number, mask: number): number {
    return narrow(this.#root, word, mask);
  }
}

function planned(draft: Draft, rowsOf: ReadonlyMap<Conditions, FieldRows>): Part {
  if (draft.op === 'condition') return testOf([draft], true, rowsOf.get(draft.conditions)!);
  const byField = Map.groupBy(draft.parts.filter(isCondition), ({ conditions }) => conditions);
  const tests = [...byField].map(([of, conditions]) => testOf(conditions, draft.op === 'and', rowsOf.get(of)!));
  const deeper = draft.parts.filter((part) => !isCondition(part)).map((part) => planned(part, rowsOf));
  const [fast, slow] = [tests.filter(({ of }) => !of.parses), tests.filter(({ of }) => of.parses)];
  const parts: Part[] = [...fast, ...deeper, ...slow];
  return parts.length === 1 ? parts[0] : { op: draft.op, parts };
}

function isCondition(draft: Draft): draft is Condition {
  return draft.op === 'condition';
}

function testOf(conditions: Condition[], all: boolean, of: FieldRows): Test {
  const cares = new Uint32Array(of.width);
  const wants = new Uint32Array(of.width);
  for (const { bit, holds } of conditions) {
    cares[bit >>> 5] |= 1 << (bit & 31);
    if (holds) wants[bit >>> 5] |= 1 << (bit & 31);
  }
  return { op: 'test', all, of, cares, wants };
}

function testsOf(part: Part): number {
  if (part.op === 'test') return part.of.width;
  return part.parts.reduce((tests, inner) => tests + testsOf(inner), 0);
}

function narrow(part: Part, word: number, mask: number): number {
  switch (part.op) {
    case 'test':
      return part.of.match(word, mask, part);
    case 'and': {
      let left = mask;
      for (let i = 0; i < part.parts.length && left !== 0; i++) left = narrow(part.parts[i], word, left);
      return left;
    }
    case 'or': {
      let left = mask;
      for (let i = 0; i < part.parts.length && left !== 0; i++) left &= ~narrow(part.parts[i], word, left);
      return mask & ~left;
    }
  }
}
