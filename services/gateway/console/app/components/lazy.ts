import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.ts';
import { ErrorState } from './error-state.ts';
import { Waiting } from './waiting.ts';

type Loading<P> = { state: 'loading' } | { state: 'failed' } | { state: 'ready'; component: FunctionComponent<P> };

/** When this tab last loaded itself anew because of another version. */
const RELOADED = 'provec-console-reloaded';
const NOT_LOADED = {
  kind: 'unreachable',
  title: 'This page could not be loaded',
  text: 'The service may be restarting, or the network is down.',
  requestId: null,
  code: null,
} as const;

interface LazyProps<P extends object> {
  load(): Promise<{ default: FunctionComponent<P> }>;
  props: P;
}

/** A component whose code loads when it is first shown. */
export function Lazy<P extends object>({ load, props }: LazyProps<P>) {
  const [loading, setLoading] = useState<Loading<P>>({ state: 'loading' });
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    setLoading({ state: 'loading' });
    load().then(
      ({ default: component }) => isCurrent && setLoading({ state: 'ready', component }),
      async () => {
        if (await hasOtherVersion()) location.reload();
        else if (isCurrent) setLoading({ state: 'failed' });
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [load, round]);
  if (loading.state === 'loading') return html`<${Waiting} what="the page" />`;
  if (loading.state === 'failed')
    return html`<${ErrorState} isPage failure=${NOT_LOADED} onRetry=${() => setRound((count) => count + 1)} />`;
  return html`<${loading.component} ...${props} />`;
}

/** Whether the service now serves another console, so that this one's files are gone. */
async function hasOtherVersion(): Promise<boolean> {
  const own = document.querySelector('meta[name="provec-console"]')?.getAttribute('content') ?? '';
  try {
    const response = await fetch(document.baseURI.split('#')[0]!, {
      cache: 'no-cache',
      signal: AbortSignal.timeout(5_000),
    });
    const isOther = response.ok && !(await response.text()).includes(`content="${own}"`);
    // A second reload would not help, and could repeat without end.
    if (!isOther || sessionStorage.getItem(RELOADED) === own) return false;
    sessionStorage.setItem(RELOADED, own);
    return true;
  } catch {
    // The service is away; the page says so.
    return false;
  }
}
