import { Errors, type Middleware } from 'moleculer';
import { FastestValidator } from '../lib/fastest-validator.ts';

const validator = new FastestValidator({
  haltOnFirstError: true,
  useNewCustomCheckerFunction: true,
  messages: {
    required: '{field} is missing.',
    string: '{field} must be text.',
    stringEmpty: '{field} must not be empty.',
    stringMin: '{field} must not be empty.',
    stringMax: '{field} is longer than {expected} characters.',
    number: '{field} must be a number.',
    numberInteger: '{field} must be a whole number.',
    numberMin: '{field} must be at least {expected}.',
    numberMax: '{field} must be at most {expected}.',
    boolean: '{field} must be true or false.',
    array: '{field} must be a list.',
    object: '{field} must be an object.',
    enumValue: '{field} must be one of {expected}.',
    objectStrict: 'There is no parameter {actual}.',
  },
});

/**
 * Checks the parameters of every action that has `params`, in place of Moleculer's validator. The
 * message names the first wrong parameter, because other nodes receive only the message.
 */
export const paramsCheck: Middleware = {
  name: 'ParamsCheck',
  localAction(handler, { params }) {
    if (!params) return handler;
    const check = validator.compile(structuredClone(params));
    return function checked(ctx) {
      const found = check(ctx.params ?? {});
      if (!Array.isArray(found)) return handler.call(this, ctx);
      const message = found[0]?.message ?? 'A parameter is missing or wrong.';
      return Promise.reject(new Errors.ValidationError(message, 'PARAMS', []));
    };
  },
};
