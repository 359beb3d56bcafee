import fastestValidator, { type ValidationRule } from 'fastest-validator';
import { ProvecError } from '../../lib/errors.ts';
import { ROWS_MAX } from './paging.ts';

// Its types take it for an ES module, whose default export CommonJS would put under that name; it
// exports the class itself.
const FastestValidator = fastestValidator as unknown as typeof fastestValidator.default;

const validator = new FastestValidator({
  haltOnFirstError: true,
  messages: {
    required: '{field} is missing.',
    string: '{field} must be text.',
    stringEmpty: '{field} must not be empty.',
    stringMin: '{field} must not be empty.',
    stringMax: '{field} is longer than {expected} characters.',
    number: '{field} must be a whole number.',
    numberInteger: '{field} must be a whole number.',
    numberMin: '{field} must be at least {expected}.',
    numberMax: '{field} must be at most {expected}.',
    enumValue: '{field} must be one of {expected}.',
    objectStrict: 'There is no parameter {actual}.',
  },
});

export const REFERENCE = { type: 'string', min: 1, max: 1_024 } as const;
export const OPTIONAL_REFERENCE = { ...REFERENCE, optional: true } as const;
export const SLICE = {
  offset: { type: 'number', integer: true, min: 0, max: 1_000_000_000, optional: true },
  limit: { type: 'number', integer: true, min: 1, max: ROWS_MAX, optional: true },
} as const;

/**
 * A check of an action's parameters that throws INVALID_ARGUMENT with a sentence for the operator.
 * Moleculer's own check keeps the reasons out of its error's message, and nothing but the message
 * goes from one node to another.
 */
export function checkOf(schema: Record<string, ValidationRule>): (params: unknown) => void {
  const check = validator.compile({ $$strict: true, ...schema });
  return (params) => {
    const found = check(params ?? {});
    if (Array.isArray(found))
      throw new ProvecError('INVALID_ARGUMENT', found[0]?.message ?? 'A parameter is missing or wrong.');
  };
}
