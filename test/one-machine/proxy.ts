/** Caddy and nginx with the settings of `deploy/`, on ports and with certificates of the tests. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../support/free-ports.ts';
import { killAtExit, killGroup } from '../support/process-group.ts';
import { until } from '../support/until.ts';

const ROOT = join(import.meta.dirname, '../..');
const TLS = join(ROOT, 'test/golden/tls');
const CERTIFICATE = join(TLS, 'first.pem');
const KEY = join(TLS, 'first-key.pem');

export const AUTHORITY = await readFile(join(TLS, 'authority.pem'));
export const PROXIES = ['caddy', 'nginx'] as const;
type ProxyName = (typeof PROXIES)[number];

/** Replaces each text, which must be there exactly once. */
function replaced(text: string, changes: readonly (readonly [string, string])[]): string {
  for (const [from, to] of changes) {
    if (text.split(from).length !== 2) throw new Error(`deploy/ has "${from}" not exactly once`);
    text = text.replace(from, to);
  }
  return text;
}

async function settingsOf(name: ProxyName, folder: string, port: number, servicePort: number): Promise<string> {
  const service = ['127.0.0.1:8080', `127.0.0.1:${servicePort}`] as const;
  if (name === 'caddy') {
    const shipped = await readFile(join(ROOT, 'deploy/Caddyfile'), 'utf8');
    const site = `{\n\tadmin off\n\tauto_https off\n}\nhttps://localhost:${port} {\n\ttls ${CERTIFICATE} ${KEY}`;
    return replaced(shipped, [service, ['vectors.example.com {', site]]);
  }
  const shipped = await readFile(join(ROOT, 'deploy/nginx.conf'), 'utf8');
  const live = '/etc/letsencrypt/live/vectors.example.com';
  const server = replaced(shipped, [
    service,
    ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
    ['server_name vectors.example.com;', 'server_name localhost;'],
    [`${live}/fullchain.pem`, CERTIFICATE],
    [`${live}/privkey.pem`, KEY],
  ]);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  return `daemon off; pid ${folder}/pid; error_log ${folder}/errors;
events {}
http { access_log off; ${temporary.join(' ')}
${server} }`;
}

/** A proxy that serves HTTPS at `url` in front of a service on this machine. */
export class RunningProxy {
  readonly url: string;
  readonly #folder: string;
  readonly #child: ChildProcess;

  private constructor(url: string, folder: string, child: ChildProcess) {
    this.url = url;
    this.#folder = folder;
    this.#child = child;
  }

  static async start(name: ProxyName, serviceUrl: string): Promise<RunningProxy> {
    const folder = await mkdtemp(join(tmpdir(), `provec-${name}-`));
    const [port] = await freePorts(1);
    const file = join(folder, name === 'caddy' ? 'Caddyfile' : 'nginx.conf');
    await writeFile(file, await settingsOf(name, folder, port, Number(new URL(serviceUrl).port)));
    const args = name === 'caddy' ? ['run', '--config', file] : ['-p', folder, '-c', file];
    const child = spawn(name, args, { detached: true, stdio: 'ignore', env: { ...process.env, HOME: folder } });
    killAtExit(child.pid!);
    const url = `https://localhost:${port}`;
    await until(`${name} answers`, () => isAnswering(`${url}/livez`));
    return new RunningProxy(url, folder, child);
  }

  async stop(): Promise<void> {
    killGroup(this.#child.pid!);
    await rm(this.#folder, { recursive: true, force: true });
  }
}

const isAnswering = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const call = request(url, { ca: AUTHORITY }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    call.on('error', () => resolve(false)).end();
  });
