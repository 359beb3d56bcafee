import fastestValidator from 'fastest-validator';

/** The library's class. Its types declare an ES module, but the CommonJS module is the class. */
export const FastestValidator = fastestValidator as unknown as typeof fastestValidator.default;
