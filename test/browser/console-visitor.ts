import type { BrowserPage, Scheme, Visit } from '../support/browser.ts';

const SIZES = [
  { width: 1440, height: 900 },
  { width: 360, height: 740 },
] as const;
const SCHEMES: readonly Scheme[] = ['light', 'dark'];

/** A person at the console. */
export class ConsoleVisitor {
  readonly #visit: Visit;
  readonly #url: () => string;

  constructor(visit: Visit, url: () => string) {
    this.#visit = visit;
    this.#url = url;
  }

  get page(): BrowserPage {
    return this.#visit.page;
  }

  get faults(): readonly string[] {
    return this.#visit.faults;
  }

  /** Opens the console and signs in. */
  async signIn(key: string, { isKept = false } = {}): Promise<void> {
    await this.page.goto(`${this.#url()}/console/`);
    await this.enter(key, isKept);
    await this.page.getByRole('heading', { name: 'Collections', exact: true }).waitFor();
  }

  /** Gives a key to the sign-in that is shown. */
  async enter(key: string, isKept = false): Promise<void> {
    await this.page.getByLabel('API key').fill(key);
    if (isKept) await this.page.getByLabel('Stay signed in until this tab closes').check();
    await this.press('Sign in');
  }

  /** Opens the operator's pages, without an API key. */
  async operate(token: string): Promise<void> {
    await this.page.goto(`${this.#url()}/console/#/operator`);
    await this.enterToken(token);
    await this.page.getByRole('link', { name: 'Audit log' }).waitFor();
  }

  /** Gives a token to the form that is shown. */
  async enterToken(token: string): Promise<void> {
    await this.page.getByLabel('Operator’s token').fill(token);
    await this.press('Open the operator’s pages');
  }

  /** Goes to a place of the console, as a link does. */
  async go(hash: string): Promise<void> {
    await this.page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  }

  press(name: string): Promise<void> {
    return this.page.getByRole('button', { name, exact: true }).first().click();
  }

  sees(text: string | RegExp): Promise<void> {
    return this.page.getByText(text).first().waitFor();
  }

  /** Waits for a value beside its name in a list of facts. */
  async seesFact(name: string, value: string): Promise<void> {
    await this.page.locator(`dt:text-is("${name}") + dd:text-is("${value}")`).first().waitFor();
  }

  /** Expects what is shown to be sound, wide and narrow, light and dark. */
  async expectSound(what: string): Promise<void> {
    for (const colorScheme of SCHEMES) {
      await this.page.emulateMedia({ colorScheme });
      for (const size of SIZES) {
        await this.page.setViewportSize(size);
        await this.#visit.expectSound(`${what}, ${colorScheme}, ${size.width} px`);
      }
    }
    await this.page.emulateMedia({ colorScheme: 'light' });
    await this.page.setViewportSize(SIZES[0]);
  }

  /**
   * Keeps a picture for docs/console.md, if PROVEC_TEST_SCREENSHOTS names a folder. `to`: heading
   * of the card at its top, or a class.
   */
  async picture(name: string, { width = 1120, height = 640, scheme = 'light' as Scheme, to = '' } = {}): Promise<void> {
    const folder = process.env.PROVEC_TEST_SCREENSHOTS;
    if (folder === undefined) return;
    await this.page.emulateMedia({ colorScheme: scheme });
    await this.page.setViewportSize({ width, height });
    await this.page.evaluate('scrollTo(0, 0)');
    if (to !== '') await this.page.evaluate(placeOf(to));
    await this.page.waitForLoadState('networkidle');
    await this.page.screenshot({ path: `${folder}/${name}.png` });
    await this.page.emulateMedia({ colorScheme: 'light' });
    await this.page.setViewportSize(SIZES[0]);
  }

  /** Presses a link that opens another page, and resolves with that page. */
  async opens(link: string): Promise<BrowserPage> {
    const [page] = await Promise.all([this.#visit.nextPage(), this.page.getByRole('link', { name: link }).click()]);
    return page;
  }

  close(): Promise<void> {
    return this.#visit.close();
  }
}

/** Returns an expression that scrolls to the card with a heading, or to a class. */
const placeOf = (to: string): string => `scrollTo(0,
  [...document.querySelectorAll(${JSON.stringify(to.startsWith('.') ? to : '.card')})]
    .find((one) => ${to.startsWith('.')} || one.querySelector('h2')?.innerText === ${JSON.stringify(to)})
    .getBoundingClientRect().top - 16)`;
