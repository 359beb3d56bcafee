import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../components/button.ts';
import { EmptyState } from '../components/empty-state.ts';
import { Lazy } from '../components/lazy.ts';
import { Toasts } from '../components/toast.ts';
import { scopesOf } from '../data/service.ts';
import { currentSession, endSession, setScopes, useSession } from '../data/session.ts';
import { html } from '../html.ts';
import { Navigation } from './navigation.ts';
import { PAGES } from './pages.ts';
import { hrefOf, type PageRoute, usePageRoute } from './route.ts';
import { SignIn } from './sign-in.ts';

/** First segment of the address of an audit link, which needs no key. */
const AUDIT = 'audit';
const loadAudit = () => import('../pages/audit/audit-page.ts');

/** The console: the navigation and a page, the sign-in, or an audit. */
export function Shell() {
  const { key } = useSession();
  const route = usePageRoute();
  useKeptKey();
  if (route.path[0] === AUDIT)
    return html`<${Lazy} load=${loadAudit} props=${{ token: route.path[1] ?? '' }} /><${Toasts} />`;
  const name = route.path[0] ?? PAGES[0]!.name;
  const isKeyless = PAGES.some((page) => page.name === name && page.isKeyless === true);
  if (key === null && !isKeyless) return html`<${SignIn} /><${Toasts} />`;
  return html`<div class="shell">
    <a class="skip" href="#main" onClick=${skip}>Skip to the page</a>
    <${Navigation} current=${name} />
    <main id="main" tabindex="-1"><${CurrentPage} route=${route} /></main>
    <${Toasts} />
  </div>`;
}

/** The hash is the address of a page, so a link must not change it. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

/** Looks up what a key may do that this tab kept over a reload. */
function useKeptKey(): void {
  useEffect(() => {
    const { key } = currentSession();
    if (key === null) return;
    scopesOf(key).then(setScopes, (error: unknown) => {
      // Pages show every other failure themselves.
      if (error instanceof Error && error.name === 'UnauthenticatedError') endSession('refused');
    });
  }, []);
}

function CurrentPage({ route }: { route: PageRoute }) {
  const name = route.path[0] ?? PAGES[0]!.name;
  const page = PAGES.find((one) => one.name === name);
  const place = route.path.join('/');
  const last = useRef(place);
  useEffect(() => {
    document.title = [...route.path.slice(0, 3)].reverse().concat('Provec').join(' · ');
    if (last.current === place) return;
    last.current = place;
    // A screen reader then reads the new page, as after a navigation.
    document.getElementById('main')?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [place]);
  if (page === undefined)
    return html`<${EmptyState} isPage title="There is no such page">
      <${Button} onClick=${() => location.assign(hrefOf([]))}>Go to the start<//>
    <//>`;
  return html`<${Lazy} key=${page.name} load=${page.load} props=${{ route }} />`;
}
