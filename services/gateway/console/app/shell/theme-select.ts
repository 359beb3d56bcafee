import { useState } from 'preact/hooks';
import { html } from '../html.ts';
import { chooseTheme, chosenTheme, THEMES, type Theme } from './theme.ts';

/** Switches between the themes. */
export function ThemeSelect() {
  const [theme, setTheme] = useState<Theme>(chosenTheme);
  const change = (event: Event) => {
    const next = (event.target as HTMLSelectElement).value as Theme;
    chooseTheme(next);
    setTheme(next);
  };
  return html`<label class="theme-select">
    <span>Theme</span>
    <select class="input" value=${theme} onChange=${change}>
      ${Object.entries(THEMES).map(([name, text]) => html`<option value=${name} selected=${name === theme}>${text}</option>`)}
    </select>
  </label>`;
}
