import type { FunctionComponent } from 'preact';
import type { IconName } from '../components/icon.ts';
import type { PageRoute } from './route.ts';

/** A page of the console. Its code loads when the reader first goes there. */
export interface ConsolePage {
  /** First segment of its addresses. */
  name: string;
  /** Name in the navigation. */
  label: string;
  icon: IconName;
  /** Whether it asks for something else than an API key. */
  isKeyless?: boolean;
  load(): Promise<{ default: FunctionComponent<{ route: PageRoute }> }>;
}

/** Every page, in the order of the navigation. The first is the start. */
export const PAGES: readonly ConsolePage[] = [
  {
    name: 'collections',
    label: 'Collections',
    icon: 'layers',
    load: () => import('../pages/collections/collections-page.ts'),
  },
  { name: 'keys', label: 'Keys', icon: 'key', load: () => import('../pages/keys/keys-page.ts') },
  { name: 'usage', label: 'Usage', icon: 'chart', load: () => import('../pages/usage/usage-page.ts') },
  { name: 'api', label: 'API', icon: 'code', load: () => import('../pages/api/api-page.ts') },
  {
    name: 'operator',
    label: 'Operator',
    icon: 'nodes',
    isKeyless: true,
    load: () => import('../pages/operator/operator-page.ts'),
  },
];
