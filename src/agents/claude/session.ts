/**
 * Session files: `<config>/projects/<work folder>/<session>.jsonl`, sub-agents in a folder of that name. They hold the
 * messages of stdout, with final usage, but no begin, end or denial records. The end is inferred from the last records.
 */
import { basename, dirname, join } from 'node:path';
import { plainName } from '../../lib/compressed.ts';
import { decoder } from '../kit/decoder.ts';
import { retryOf } from '../kit/failures.ts';
import { nativeOf, statusOf, textOf } from '../kit/native.ts';
import { homeOf, partsIn, sessionFiles } from '../kit/sessions.ts';
import { words } from '../kit/text.ts';
import type { Session } from './generated/native.ts';
import { noticeText } from './messages.ts';
import { retention } from './retention.ts';
import { SessionRun } from './session-run.ts';

const SUB_AGENT = /^agent-[0-9a-zA-Z_-]{1,128}\.jsonl$/;

/** The CLI's bookkeeping, and the vendor's prompts. */
const IGNORED = words(`
  agent-color agent-name agent-setting ai-title api-request-blob api-request-shape atis-latch
  attribution-snapshot bridge-session content-replacement custom-title file-history-snapshot
  last-prompt mode permission-mode pr-link progress speculation-accept summary tag task-summary
  tools-used worktree-state system/away_summary system/bridge_status system/local_command
  system/stop_hook_summary system/turn_duration
`);

export const session = sessionFiles({
  where: '~/.claude/projects, or $CLAUDE_CONFIG_DIR/projects',
  root: (env) => join(env.CLAUDE_CONFIG_DIR || join(homeOf(env), '.claude'), 'projects'),
  id: /^[0-9a-zA-Z-]{1,64}$/,
  retention,
  // Earlier versions put sub-agents' files next to the main ones.
  names: [[/./, /^(?!agent-)([0-9a-zA-Z-]{1,64})\.jsonl$/]],
  // The folder is named after the real path, and long names are cut. Such folders are searched for.
  likely: (id, cwd) => [join(cwd.replaceAll(/[^a-zA-Z0-9]/g, '-'), `${id}.jsonl`)],
  subAgents: (path, unreadable) =>
    partsIn(
      join(dirname(path), basename(plainName(path), '.jsonl'), 'subagents'),
      SUB_AGENT,
      unreadable,
    ),
  decoder: ({ since_ms, all_runs = false } = {}) =>
    decoder<Session>((to) => {
      const run = new SessionRun(to, all_runs);
      return {
        since_ms,
        before: (record, part, earlier) => run.before(record, part, earlier),
        records: {
          assistant: (record, part) => run.assistant(record, part?.path ?? ''),
          user: (record) => run.user(record),
          attachment: (record) => run.attachment(record),
          'queue-operation': (record) => run.notification(textOf(record.content)),
          'cost-state': (record) => run.spending.costState(record, false),
          'api-request'(record) {
            if (to.root) run.introduce(textOf(nativeOf(record.params)?.model));
          },
          'system/api_error'(record) {
            const retry = retryOf(record.retryAttempt, record.maxRetries, record.retryInMs);
            const status = statusOf(nativeOf(record.error)?.status);
            if (retry.attempt === null) to.notice('api_error', noticeText(record));
            else to.retried({ ...retry, status });
          },
        },
        ignored: IGNORED,
        notices: words('compact_boundary informational microcompact_boundary', 'system/'),
        noticeText,
        end: () => run.end(),
      };
    }),
});
