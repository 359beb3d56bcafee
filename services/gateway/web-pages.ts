import type { WebPage } from '../../mixins/health/health-pages.ts';

/** A page, and its path for logs and metrics, where an unknown path must not appear. */
export interface FoundPage {
  page: WebPage;
  pattern: string;
}

/** Returns the page of a path, null if it has none. */
export type FindPage = (path: string) => FoundPage | null;
