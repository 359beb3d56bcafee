/**
 * Returns a `fetch` that reports the bytes of the body that were sent, which the browser's own does
 * not. The body must be a Blob, which the browser reads as it sends it.
 */
export const uploadFetch =
  (report: (sentBytes: number) => void): typeof fetch =>
  (input, { method = 'POST', headers, body, signal } = {}) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open(method, `${input}`);
      for (const [name, value] of new Headers(headers)) request.setRequestHeader(name, value);
      request.upload.onprogress = ({ loaded }) => report(loaded);
      request.onload = () => {
        const { responseText, status } = request;
        resolve(new Response(responseText, { status, headers: headersOf(request) }));
      };
      request.onerror = () => reject(new TypeError('The connection broke.'));
      request.onabort = () => reject(signal?.reason);
      signal?.addEventListener('abort', () => request.abort(), { once: true });
      request.send(body as Blob);
    });

function headersOf(request: XMLHttpRequest): Headers {
  const headers = new Headers();
  for (const line of request.getAllResponseHeaders().split('\r\n')) {
    const at = line.indexOf(': ');
    if (at > 0) headers.append(line.slice(0, at), line.slice(at + 2));
  }
  return headers;
}
