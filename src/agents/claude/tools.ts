/** The tool table. Names and fields as sent to the model (testdata/tools.json), and those of earlier versions. */
import type { ToolTable } from '../../model/agent.ts';
import { words } from '../kit/text.ts';

export const tools: ToolTable = {
  rows: [
    { native: 'Read', tool: 'Read' },
    { native: 'NotebookRead', tool: 'Read', fields: { notebook_path: 'file_path' } },
    { native: 'Write', tool: 'Write' },
    { native: 'Edit', tool: 'Edit' },
    { native: 'MultiEdit', tool: 'Edit' },
    { native: 'NotebookEdit', tool: 'Edit', fields: { notebook_path: 'file_path' } },
    { native: 'Bash', tool: 'Bash' },
    { native: 'Grep', tool: 'Grep' },
    { native: 'Glob', tool: 'Glob' },
    { native: 'LS', tool: 'LS' },
    { native: 'WebFetch', tool: 'WebFetch' },
    { native: 'WebSearch', tool: 'WebSearch' },
    { native: 'Agent', tool: 'Task' },
    { native: 'Task', tool: 'Task' },
    { native: 'Skill', tool: 'Skill' },
    { native: 'TodoWrite', tool: 'TodoWrite' },
    { native: 'AskUserQuestion', tool: 'AskUser' },
  ],
  passed_through: words(`
    BashOutput CronCreate CronDelete CronList DeferredToolPlaceholder EnterPlanMode EnterWorktree
    ExitPlanMode ExitWorktree KillShell ListAgents Monitor ReportFindings ScheduleWakeup
    SendMessage SlashCommand StructuredOutput TaskCreate TaskGet TaskList TaskStop TaskUpdate
    ToolSearch Workflow
  `),
};
