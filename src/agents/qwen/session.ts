/**
 * Session files: `<home>/projects/<work folder>/chats/<session>.jsonl`, sub-agents in `../subagents/<session>/`. Messages in the
 * model API's own shape, and a telemetry record for every model request and call. There is no end record: how the run ended
 * is inferred from its last records.
 */
import { basename, dirname, join } from 'node:path';
import type { SessionPart } from '../../model/agent.ts';
import { decoder } from '../kit/decoder.ts';
import { idOf, nativeOf } from '../kit/native.ts';
import { homeOf, metaIn, pathsIn, sessionFiles } from '../kit/sessions.ts';
import type { Session } from './generated/native.ts';
import { SessionRun } from './session-run.ts';

const SUB_AGENT = /^agent-[0-9a-zA-Z_-]{1,200}\.jsonl$/;
/** Bookkeeping of the CLI, and records that its own views are rebuilt from. */
const IGNORED = [
  'system/agent_bootstrap',
  'system/agent_launch_prompt',
  'system/agent_retry',
  'system/agent_session_ready',
  'system/at_command',
  'system/attribution_snapshot',
  'system/branch_checkpoint',
  'system/custom_title',
  'system/file_history_snapshot',
  'system/goal_runtime',
  'system/goal_state',
  'system/goal_turn_end',
  'system/omni_recall',
  'system/parent_session',
  'system/session_approval_mode',
  'system/session_artifact_event',
  'system/session_artifact_snapshot',
  'system/session_execution_engine',
  'system/session_model',
  'system/session_notes',
  'system/session_source',
  'system/session_sources_snapshot',
  'system/slash_command',
  'system/turn_result',
  'system/user_text_elements',
];

export const session = sessionFiles({
  root(env) {
    const home = env.QWEN_RUNTIME_DIR || env.QWEN_HOME || join(homeOf(env), '.qwen');
    return join(home, 'projects');
  },
  id: /^[0-9a-zA-Z_-]{1,128}$/,
  names: [[/./, /^chats$/, /^([0-9a-zA-Z_-]{1,128})\.jsonl$/]],
  // The folder is named after the real path: another one is searched for.
  likely: (id, cwd) => [join(cwd.replaceAll(/[^a-zA-Z0-9]/g, '-'), 'chats', `${id}.jsonl`)],
  async subAgents(path) {
    const parts: SessionPart[] = [];
    const folder = join(dirname(dirname(path)), 'subagents', basename(path, '.jsonl'));
    for await (const { path: sub } of pathsIn(folder, [SUB_AGENT])) {
      // The call that started a sub-agent is in a small file beside the sub-agent's own.
      const meta = metaIn(sub.replace(/\.jsonl$/, '.meta.json'));
      parts.push({ path: sub, parent_call_id: idOf(meta?.toolUseId) });
    }
    return parts;
  },
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
