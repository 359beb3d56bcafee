/** How the console looks; `system` follows the settings of the reader's system. */
export const THEMES = { system: 'System', light: 'Light', dark: 'Dark', contrast: 'High contrast' } as const;
export type Theme = keyof typeof THEMES;

const STORED = 'provec-theme';
const isTheme = (name: string | null): name is Theme => name !== null && Object.hasOwn(THEMES, name);

/** Returns the theme that the reader chose in this browser. */
export function chosenTheme(): Theme {
  const stored = localStorage.getItem(STORED);
  return isTheme(stored) ? stored : 'system';
}

/** Shows the console in a theme, and keeps the choice. */
export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, theme);
  applyTheme();
}

const moreContrast = matchMedia('(prefers-contrast: more)');
moreContrast.addEventListener('change', applyTheme);

/** Shows the console in the chosen theme. A system that asks for more contrast gets it. */
export function applyTheme(): void {
  const theme = chosenTheme();
  document.documentElement.dataset.theme = theme === 'system' && moreContrast.matches ? 'contrast' : theme;
}
