import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { Asset } from '../codings/asset.ts';
import { consoleDocument, integrityOf, type PageTraits } from './document.ts';
import { linkedScript } from './linked-script.ts';
import { fileOf, type ModuleGraph, readModules } from './module-graph.ts';
import { verifierFile } from './verifier-file.ts';

const APP = 'services/gateway/console/app';
const ICON = `${APP}/icon.svg`;
/** Folder of the style sheets, which go out as one in the order of their names. */
const STYLES = `${APP}/styles`;
const STYLE = `${STYLES}.css`;
const VERIFIER = `${APP}/verifier`;
const VERIFIER_STYLE = `${VERIFIER}/verifier.css`;
const VERIFIER_WORKER = `${VERIFIER}/worker.ts`;
/** Workers of the pages, which ask no server. */
const PAGE_WORKERS = [
  `${APP}/pages/collection/map/plane-worker.ts`,
  `${APP}/pages/collection/transfer/parquet-worker.ts`,
];
/** Files that no module imports and no document names: pages add these styles themselves. */
const OTHERS = [
  'node_modules/uplot/dist/uPlot.min.css',
  `${APP}/pages/api/api.css`,
  `${APP}/pages/collection/browse/browse.css`,
  `${APP}/pages/collection/map/map.css`,
];
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
};
const SCRIPT = 'text/javascript; charset=utf-8';
const HTML = 'text/html; charset=utf-8';
export const VERSION_CHARS = 16;

/** Nodes of the ledger that the verifier may ask: those with https, or on this machine. */
const ANY_NODE = 'https: http://127.0.0.1:* http://localhost:*';

const CONSOLE: PageTraits = {
  title: 'Provec',
  loading: 'The console is loading.',
  noScript: 'The console needs JavaScript. The API does not: see /openapi.json.',
  up: '',
  connect: "'self'",
};
const VERIFIER_PAGE: PageTraits = {
  title: 'Provec verifier',
  loading: 'The verifier is loading.',
  noScript: 'The verifier needs JavaScript. The command provec-verify does not.',
  up: '../',
  connect: ANY_NODE,
};

/** A page, which browsers ask about each time. */
export interface LoadedDocument {
  asset: Asset;
  /** Changes with the document. */
  tag: string;
}

export interface LoadedConsole {
  version: string;
  /** By their paths below `/console/`. */
  documents: ReadonlyMap<string, LoadedDocument>;
  /** By their paths in the repository. */
  assets: ReadonlyMap<string, Asset>;
}

/** Reads all files of the console. Rejects if one is missing or cannot be linked. */
export async function loadConsole(): Promise<LoadedConsole> {
  const pages = [
    { path: '', traits: CONSOLE, styles: [STYLE], graph: await readModules(`${APP}/main.ts`) },
    {
      path: 'verify/',
      traits: VERIFIER_PAGE,
      styles: [STYLE, VERIFIER_STYLE],
      graph: await readModules(`${VERIFIER}/main.ts`),
    },
  ];
  const worker = linkedScript(await readModules(VERIFIER_WORKER));
  const assets = await readAssets(pages.map(({ graph }) => graph));
  assets.set(VERIFIER_WORKER, workerAsset(worker, `; connect-src ${ANY_NODE}`));
  for (const path of PAGE_WORKERS) assets.set(path, workerAsset(linkedScript(await readModules(path))));
  const version = versionOf(assets);
  const documents = new Map<string, LoadedDocument>();
  for (const { path, traits, styles, graph } of pages)
    documents.set(path, documentOf({ ...traits, version, styles }, graph, assets));
  documents.set('verify/provec-verify.html', await verifierDownload(worker, assets));
  return { version, documents, assets };
}

/** A worker has the policy of its own response, not that of its page. */
const workerAsset = (script: string, allowed = ''): Asset =>
  new Asset(SCRIPT, script, { 'Content-Security-Policy': `default-src 'none'${allowed}` });

async function readAssets(graphs: readonly ModuleGraph[]): Promise<Map<string, Asset>> {
  const assets = new Map<string, Asset>();
  for (const { modules } of graphs)
    for (const [path, source] of modules) if (!assets.has(path)) assets.set(path, new Asset(SCRIPT, source));
  assets.set(STYLE, new Asset(TYPES['.css']!, await readStyles()));
  for (const path of [ICON, VERIFIER_STYLE, ...OTHERS])
    assets.set(path, new Asset(TYPES[extname(path)]!, await readFile(fileOf(path), 'utf8')));
  return assets;
}

function documentOf(
  page: PageTraits & { version: string; styles: readonly string[] },
  { entry, modules, named, first }: ModuleGraph,
  assets: ReadonlyMap<string, Asset>,
): LoadedDocument {
  const foreign = [...modules.keys()].filter((path) => path.startsWith('node_modules/'));
  const integrity = new Map(foreign.map((path) => [path, integrityOf(assets.get(path)!.bytes)]));
  const { html, policy } = consoleDocument({ ...page, entry, icon: ICON, first, named, integrity });
  return taggedDocument(html, { 'Content-Security-Policy': policy });
}

async function verifierDownload(worker: string, assets: ReadonlyMap<string, Asset>): Promise<LoadedDocument> {
  const script = linkedScript(await readModules(`${VERIFIER}/standalone.ts`));
  const style = [STYLE, VERIFIER_STYLE].map((path) => assets.get(path)!.bytes.toString()).join('\n');
  return taggedDocument(verifierFile({ script, worker, style, connect: ANY_NODE }), {
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
    'Content-Disposition': 'attachment; filename="provec-verify.html"',
  });
}

function taggedDocument(html: string, headers: Readonly<Record<string, string>>): LoadedDocument {
  const asset = new Asset(HTML, html, headers);
  // Weak, since it is the same in every coding.
  return { asset, tag: `W/"${integrityOf(asset.bytes)}"` };
}

async function readStyles(): Promise<string> {
  const folder = fileOf(STYLES);
  const names = (await readdir(folder)).filter((name) => name.endsWith('.css')).sort();
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('\n');
}

/** Returns a hash of all files, in any order. */
function versionOf(assets: ReadonlyMap<string, Asset>): string {
  const hash = createHash('sha256');
  for (const path of [...assets.keys()].sort()) hash.update(`${path}\0`).update(assets.get(path)!.bytes).update('\0');
  return hash.digest('hex').slice(0, VERSION_CHARS);
}
