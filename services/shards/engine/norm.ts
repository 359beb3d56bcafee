/** Euclidean norm of row `at` of `vectors`. */
export function norm(vectors: Float32Array, at: number, dimensions: number): number {
  let sum = 0;
  for (let i = at; i < at + dimensions; i++) sum += vectors[i] * vectors[i];
  return Math.sqrt(sum);
}
