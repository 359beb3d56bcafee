import type { ApiOperation } from './api-document.ts';

/** A request as the reader fills it in. */
export interface RequestDraft {
  /** Texts of parameters by their names; empty ones in the query are left out. */
  values: Readonly<Record<string, string>>;
  body: string;
}

/** A request that can be sent. */
export interface ReadyRequest {
  method: string;
  /** Path with its query, from the service's address on. */
  target: string;
  body: string | null;
  contentType: string | null;
}

/** Path segments that addresses resolve even if escaped. */
const UNSAFE = ['', '.', '..'];

/** A request, or why there is none; `isMissing`: something is not filled in yet. */
type Drafted =
  | { request: ReadyRequest; fault: null; isMissing: false }
  | { request: null; fault: string; isMissing: boolean };

/** Returns the request, or what is missing in it. */
export function readyRequest(operation: ApiOperation, { values, body }: RequestDraft): Drafted {
  const textOf = (name: string) => (Object.hasOwn(values, name) ? values[name]! : '');
  const wrong = operation.parameters.find(
    ({ name, in: place, required }) =>
      (place === 'path' && UNSAFE.includes(textOf(name))) || (required === true && textOf(name) === ''),
  );
  if (wrong !== undefined) return { request: null, fault: `Fill in ${wrong.name}.`, isMissing: true };
  const path = operation.path.replace(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(textOf(name)));
  const query = new URLSearchParams();
  for (const { name, in: place } of operation.parameters)
    if (place === 'query' && textOf(name) !== '') query.set(name, textOf(name));
  const fault = operation.body === null ? null : bodyFault(operation.body.type, body);
  if (fault !== null) return { request: null, fault, isMissing: false };
  return {
    request: {
      method: operation.method,
      target: query.size === 0 ? path : `${path}?${query}`,
      body: operation.body === null ? null : body,
      contentType: operation.body?.type ?? null,
    },
    fault: null,
    isMissing: false,
  };
}

function bodyFault(type: string, body: string): string | null {
  if (type !== 'application/json') return null;
  try {
    JSON.parse(body);
    return null;
  } catch (error) {
    return `The body is not JSON yet: ${(error as Error).message}`;
  }
}

/** Returns a request as a command. The key is in a variable, so that no history has it. */
export function curlOf(
  service: string,
  { method, target, body, contentType }: ReadyRequest,
  { access, keyHeader }: Pick<ApiOperation, 'access' | 'keyHeader'>,
): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const variable = access === 'operator' ? '$PROVEC_ADMIN_TOKEN' : '$PROVEC_KEY';
  const key = keyHeader === 'Authorization' ? `Authorization: Bearer ${variable}` : `${keyHeader}: ${variable}`;
  return [
    `curl -sS${method === (body === null ? 'GET' : 'POST') ? '' : ` -X ${method}`} ${quoted(`${service}${target}`)}`,
    ...(access === 'open' ? [] : [`  -H "${key}"`]),
    ...(contentType === null ? [] : [`  -H ${quoted(`Content-Type: ${contentType}`)}`]),
    ...(body === null ? [] : [`  --data-binary ${quoted(body)}`]),
  ].join(' \\\n');
}
