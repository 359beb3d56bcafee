import { useEffect, useState } from 'preact/hooks';
import { Button } from '../components/button.ts';
import { Icon } from '../components/icon.ts';
import { endSession, useSession } from '../data/session.ts';
import { html } from '../html.ts';
import { Brand } from './brand.ts';
import { PAGES } from './pages.ts';
import { hrefOf } from './route.ts';
import { ThemeSelect } from './theme-select.ts';

/** Characters of a key that show which one it is; the service lists as many. */
const PREFIX_CHARS = 12;

/** The pages and the session: at the left, and behind a button where there is little room. */
export function Navigation({ current }: { current: string }) {
  const [isOpen, setOpen] = useState(false);
  const { key, scopes } = useSession();
  useEffect(() => {
    const close = () => setOpen(false);
    addEventListener('hashchange', close);
    return () => removeEventListener('hashchange', close);
  }, []);
  return html`<header class=${isOpen ? 'side side-open' : 'side'}>
    <div class="side-head">
      <a class="home" href=${hrefOf([])} aria-label="Provec, to the start"><${Brand} /></a>
      <button
        type="button"
        class="button button-quiet menu"
        aria-expanded=${isOpen ? 'true' : 'false'}
        aria-controls="side-body"
        onClick=${() => setOpen(!isOpen)}
      >
        <${Icon} name=${isOpen ? 'cross' : 'menu'} /> Menu
      </button>
    </div>
    <div class="side-body" id="side-body">
      <nav class="side-pages" aria-label="Pages">
        ${PAGES.map(
          ({ name, label, icon }) =>
            html`<a href=${hrefOf([name])} aria-current=${name === current ? 'page' : undefined}>
              <${Icon} name=${icon} />${label}
            </a>`,
        )}
      </nav>
      <div class="side-foot">
        <${ThemeSelect} />
        ${
          key === null
            ? html`<p class="session muted">No API key in this tab.</p>`
            : html`<div class="session">
                <span class="session-key"><code>${key.slice(0, PREFIX_CHARS)}…</code> ${!scopes.manage && html`<span>limited key</span>`}</span>
                <${Button} kind="quiet" onClick=${() => endSession(null)}>Sign out<//>
              </div>`
        }
      </div>
    </div>
  </header>`;
}
