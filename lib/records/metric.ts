export type Metric = 'cosine' | 'euclidean' | 'dot';
/** Number type of the vectors in the index; stored vectors are always float32. */
export type Quantization = 'bf16' | 'f32' | 'f16' | 'i8';
