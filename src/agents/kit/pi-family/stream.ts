/**
 * stdout of `--mode json` (and of `--mode rpc`, which has the same events). Records have no times, and almost
 * everything is repeated: a message in its updates, its end, its turn and its run, and a result likewise.
 */
import { decoder } from '../decoder.ts';
import { idOf, nativeOf, textOf } from '../native.ts';
import { words } from '../text.ts';
import type { Stdout } from './generated/native.ts';
import { ofExecution } from './results.ts';
import { Run } from './stream-run.ts';

/** Known kinds without an event. */
const IGNORED = words(`
  advisor_cost_changed auto_retry_end bash_execution_update entry_appended queue_update
  session_info_changed
  summarization_retry_attempt_start summarization_retry_finished thinking_level_changed
  tool_stream_update
`);
const NOTICES = words(`
  auto_compaction_start compaction_start extension_error extension_ui_request
  summarization_retry_scheduled
`);

export const stream = () =>
  decoder<Stdout>((to) => {
    const run = new Run(to);
    return {
      records: {
        message_update: (record) => run.pieces.update(record),
        message_start: (record) => run.begin(nativeOf(record.message)),
        message_end: (record) => run.message(nativeOf(record.message)),
        tool_execution_start: (record) => run.talk.calls.announce(record, run.talk.measured),
        tool_execution_update: (record) => run.progress(record),
        tool_execution_end: (record) => run.talk.result(ofExecution(record)),
        turn_start() {
          run.pieces.abandon(run.talk);
          to.step(null);
        },
        turn_end: (record) => run.turnEnd(record),
        agent_start: () => run.agentStart(),
        agent_end: (record) => run.agentEnd(record),
        agent_settled: (record) => run.agentSettled(record),
        session: (record) =>
          run.introduce({ session_id: idOf(record.id), cwd: textOf(record.cwd) }),
        response: (record) => run.response(record),
        auto_retry_start: (record) => run.retry(record),
        compaction_end: (record) => run.compacted('compaction_end', record),
        auto_compaction_end: (record) => run.compacted('auto_compaction_end', record),
      },
      ignored: IGNORED,
      notices: NOTICES,
      noticeText: ({ title, error, errorMessage, reason }) =>
        textOf([title, error, errorMessage, reason].find(textOf)),
      end: () => run.end(),
    };
  });
