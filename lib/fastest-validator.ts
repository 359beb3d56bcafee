import fastestValidator from 'fastest-validator';

/**
 * The library's class. Its types take it for an ES module, whose default export CommonJS would put
 * under that name; it exports the class itself.
 */
export const FastestValidator = fastestValidator as unknown as typeof fastestValidator.default;
