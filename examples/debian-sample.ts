import { readFileSync } from 'node:fs';

export interface Package {
  id: string;
  values: number[];
  metadata: Record<string, unknown>;
}

/**
 * The 2,000 Debian packages in the file next to this one: names, figures and embeddings of 384
 * dimensions and unit length.
 */
export function debianSample(): Package[] {
  const text = readFileSync(new URL('./debian-sample.ndjson', import.meta.url), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const { id, values_f16_base64, metadata } = JSON.parse(line) as {
        id: string;
        values_f16_base64: string;
        metadata: Record<string, unknown>;
      };
      const bytes = Uint8Array.from(Buffer.from(values_f16_base64, 'base64'));
      return { id, values: Array.from(new Float16Array(bytes.buffer)), metadata };
    });
}
