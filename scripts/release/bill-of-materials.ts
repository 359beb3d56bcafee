import { createHash } from 'node:crypto';
import { run } from './run.ts';

interface Bill {
  serialNumber: string;
  metadata: { timestamp: string };
}

/**
 * Returns the bill of materials of a staged package in CycloneDX's JSON. npm gives each bill a
 * random number and the time of day; here both follow from the content and the commit.
 */
export async function billOfMaterials(folder: string, timeS: number): Promise<string> {
  const args = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'];
  const bill = JSON.parse(await run('npm', args, { cwd: folder })) as Bill;
  bill.serialNumber = '';
  bill.metadata.timestamp = new Date(timeS * 1000).toISOString();
  bill.serialNumber = `urn:uuid:${uuidOf(JSON.stringify(bill))}`;
  return `${JSON.stringify(bill, null, 2)}\n`;
}

/** Returns a UUID of version 8 (RFC 9562) made from the hash of a text. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join('-');
}
