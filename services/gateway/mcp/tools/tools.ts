import { countTool } from './count.ts';
import { forgetTool } from './forget.ts';
import { getTool } from './get.ts';
import { listTool } from './list.ts';
import { proveTool } from './prove.ts';
import { rememberTool } from './remember.ts';
import { searchTool } from './search.ts';
import type { Tool } from './tool.ts';
import { updateTool } from './update.ts';

/** All tools. Their list fills an agent's context, so a test bounds its size. */
export const TOOLS: readonly Tool[] = [
  searchTool,
  rememberTool,
  updateTool,
  forgetTool,
  getTool,
  listTool,
  countTool,
  proveTool,
];
