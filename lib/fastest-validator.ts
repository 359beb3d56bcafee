import fastestValidator from 'fastest-validator';

/**
 * The library's class. Its types declare an ES module with a default export, but at run time the
 * CommonJS module is the class itself.
 */
export const FastestValidator = fastestValidator as unknown as typeof fastestValidator.default;
