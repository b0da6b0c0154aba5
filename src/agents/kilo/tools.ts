/** The tool table: that of the family, and the CLI's own tools (testdata/tools.json). */
import type { ToolTable } from '../../model/agent.ts';
import { TOOLS } from '../kit/opencode-family/tools.ts';
import { words } from '../kit/text.ts';

export const tools: ToolTable = {
  rows: TOOLS.rows,
  passed_through: [
    ...TOOLS.passed_through,
    ...words(`
      background_process board_post board_read cancel_wakeup cron_create cron_delete cron_list goal
      kilo_local_recall link_pr schedule_wakeup
    `),
  ],
};
