/** Entry of the console: shows the shell in the document that the gateway serves. */
import { render } from 'preact';
import { html } from './html.ts';
import { Shell } from './shell/shell.ts';
import { applyTheme } from './shell/theme.ts';

applyTheme();
const place = document.getElementById('console')!;
// The document says there that the console is loading.
place.replaceChildren();
render(html`<${Shell} />`, place);
