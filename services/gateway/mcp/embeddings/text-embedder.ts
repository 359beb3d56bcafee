/** Makes vectors of texts, for one request. */
export interface TextEmbedder {
  /**
   * Returns a vector of `dimensions` numbers for each text. Throws DIMENSION_MISMATCH,
   * RATE_LIMITED, UNAVAILABLE or ClientGoneError.
   */
  embed(texts: readonly string[], dimensions: number): Promise<number[][]>;
}
