import { integrityOf } from './document.ts';

interface VerifierFileParts {
  /** The page's script. */
  script: string;
  /** The worker's script. */
  worker: string;
  style: string;
  connect: string;
}

/**
 * Returns the verifier as one HTML file that works from disk. Its policy allows exactly the script
 * and the style that it has.
 */
export function verifierFile({ script, worker, style, connect }: VerifierFileParts): string {
  const policy = [
    "default-src 'none'",
    `script-src '${integrityOf(Buffer.from(script))}'`,
    `style-src '${integrityOf(Buffer.from(style))}'`,
    `connect-src ${connect}`,
    'worker-src blob:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types provec-worker',
  ].join('; ');
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<meta name="referrer" content="no-referrer">',
    '<title>Provec verifier</title>',
    `<style>${style}</style>`,
    '</head>',
    '<body>',
    '<div id="console"></div>',
    '<noscript>The verifier needs JavaScript.</noscript>',
    // Text until the page makes a worker of it.
    `<script type="text/plain" id="worker">${worker}</script>`,
    `<script type="module">${script}</script>`,
    '</body>',
    '</html>',
    '',
  ].join('\n');
}
