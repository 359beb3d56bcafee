import { count } from './count.ts';
import { forget } from './forget.ts';
import { get } from './get.ts';
import { list } from './list.ts';
import { prove } from './prove.ts';
import { remember } from './remember.ts';
import { search } from './search.ts';
import type { Tool } from './tool.ts';
import { update } from './update.ts';

/** All tools. Their list fills an agent's context, so a test bounds its size. */
export const TOOLS: readonly Tool[] = [search, remember, update, forget, get, list, count, prove];
