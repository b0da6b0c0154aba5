/**
 * Session files: `<home>/projects/<work folder>/chats/<session>.jsonl`, sub-agents in `../subagents/<session>/`.
 * Messages in the model API's own shape, and a telemetry record for every model request and call. There is no end
 * record: the end is inferred from the last records.
 */
import { basename, dirname, join } from 'node:path';
import { plainName } from '../../lib/compressed.ts';
import { decoder } from '../kit/decoder.ts';
import { nativeOf } from '../kit/native.ts';
import { homeOf, partsIn, sessionFiles } from '../kit/sessions.ts';
import { words } from '../kit/text.ts';
import type { Session } from './generated/native.ts';
import { SessionRun } from './session-run.ts';

const SUB_AGENT = /^agent-[0-9a-zA-Z_-]{1,200}\.jsonl$/;
/** The CLI's bookkeeping, and records for restoring its views. */
const IGNORED = words(
  `
  agent_bootstrap agent_launch_prompt agent_retry agent_session_ready at_command
  attribution_snapshot branch_checkpoint custom_title file_history_snapshot goal_runtime
  goal_state goal_turn_end omni_recall parent_session session_approval_mode session_artifact_event
  session_artifact_snapshot session_execution_engine session_model session_notes session_source
  session_sources_snapshot slash_command turn_result user_text_elements
`,
  'system/',
);

export const session = sessionFiles({
  where: '~/.qwen/projects/*/chats, or in $QWEN_HOME or $QWEN_RUNTIME_DIR',
  root(env) {
    const home = env.QWEN_RUNTIME_DIR || env.QWEN_HOME || join(homeOf(env), '.qwen');
    return join(home, 'projects');
  },
  id: /^[0-9a-zA-Z_-]{1,128}$/,
  names: [[/./, /^chats$/, /^([0-9a-zA-Z_-]{1,128})\.jsonl$/]],
  // The folder is named after the real path. Other folders are searched for.
  likely: (id, cwd) => [join(cwd.replaceAll(/[^a-zA-Z0-9]/g, '-'), 'chats', `${id}.jsonl`)],
  subAgents: (path, unreadable) =>
    partsIn(
      join(dirname(dirname(path)), 'subagents', basename(plainName(path), '.jsonl')),
      SUB_AGENT,
      unreadable,
    ),
  decoder: ({ since_ms } = {}) =>
    decoder<Session>((to) => {
      const run = new SessionRun(to);
      return {
        since_ms,
        before: (record, part, earlier) => run.before(record, part, earlier),
        records: {
          assistant: (record) => run.assistant(record),
          user: (record) => run.user(record),
          tool_result: (record) => run.results(record),
          'system/ui_telemetry': (record) =>
            run.telemetry(nativeOf(nativeOf(record.systemPayload)?.uiEvent)),
          'system/background_task_completed': (r) => run.notice('background_task_completed', r),
          'system/chat_compression': (r) => run.notice('chat_compression', r),
          'system/notification': (r) => run.notice('notification', r),
          'system/rewind': (r) => run.notice('rewind', r),
        },
        ignored: IGNORED,
        end: () => run.end(),
      };
    }),
});
