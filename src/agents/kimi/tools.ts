/** The tool table. Names and fields as sent to the model (testdata/tools.json). MCP tools are `mcp__<server>__<tool>`. */
import type { ToolTable } from '../../model/agent.ts';
import { words } from '../kit/text.ts';

export const READ = 'Read';
export const WRITE = 'Write';
export const EDIT = 'Edit';
export const SHELL = 'Bash';
export const SKILL = 'Skill';

export const tools: ToolTable = {
  rows: [
    { native: READ, tool: 'Read', fields: { path: 'file_path' } },
    { native: WRITE, tool: 'Write', fields: { path: 'file_path' } },
    { native: EDIT, tool: 'Edit', fields: { path: 'file_path' } },
    { native: SHELL, tool: 'Bash' },
    { native: 'Grep', tool: 'Grep' },
    { native: 'Glob', tool: 'Glob' },
    { native: 'FetchURL', tool: 'WebFetch' },
    { native: 'WebSearch', tool: 'WebSearch' },
    { native: 'Agent', tool: 'Task' },
    { native: SKILL, tool: 'Skill' },
    { native: 'TodoList', tool: 'TodoWrite' },
    { native: 'AskUserQuestion', tool: 'AskUser' },
  ],
  passed_through: words(`
    AgentSwarm CreateGoal CronCreate CronDelete CronList EnterPlanMode ExitPlanMode GetGoal SetGoalBudget TaskList
    TaskOutput TaskStop UpdateGoal WaitFor
  `),
};
