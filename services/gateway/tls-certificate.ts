import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Logger } from 'pino';
import { ConfigError } from '../../process/config.ts';

const CHECKED_EVERY_MS = 2_000;

export interface TlsFiles {
  /** PEM file with the certificate, followed by those that issued it. */
  cert: string;
  /** PEM file with the certificate's private key. */
  key: string;
}

/**
 * Certificate and key of the gateway's server, read again when a file changes. While the two files
 * do not fit together, as in the middle of a renewal, the last pair that did stays in use.
 */
export class TlsCertificate {
  readonly #files: TlsFiles;
  readonly #log: Logger;
  #current: SecureContextOptions;
  #stop = (): void => undefined;

  /** Throws ConfigError if the files do not hold a certificate and its key. */
  constructor(files: TlsFiles, log: Logger) {
    this.#files = files;
    this.#log = log;
    this.#current = readPair(files);
  }

  get current(): SecureContextOptions {
    return this.#current;
  }

  /** Calls `use` with each new pair until `close`. */
  watch(use: (pair: SecureContextOptions) => void): void {
    const reload = () => {
      try {
        this.#current = readPair(this.#files);
      } catch (error) {
        this.#log.warn({ err: error }, 'the new TLS certificate cannot be used; the one before it stays in use');
        return;
      }
      use(this.#current);
      this.#log.info('serving with a new TLS certificate');
    };
    const paths = Object.values<string>({ ...this.#files });
    for (const path of paths) watchFile(path, { interval: CHECKED_EVERY_MS, persistent: false }, reload);
    this.#stop = () => {
      for (const path of paths) unwatchFile(path, reload);
    };
  }

  close(): void {
    this.#stop();
  }
}

function readPair({ cert, key }: TlsFiles): SecureContextOptions {
  const pair: SecureContextOptions = {
    cert: readPem('PROVEC_TLS_CERT', cert),
    key: readPem('PROVEC_TLS_KEY', key),
    minVersion: 'TLSv1.2',
  };
  try {
    createSecureContext(pair);
  } catch (error) {
    throw new ConfigError(
      `PROVEC_TLS_CERT and PROVEC_TLS_KEY must be PEM files of a certificate and its private key, without a passphrase: ${cert} and ${key} (${(error as Error).message}).`,
      { cause: error },
    );
  }
  return pair;
}

function readPem(name: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new ConfigError(`${name} must be a file that Provec can read: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}
