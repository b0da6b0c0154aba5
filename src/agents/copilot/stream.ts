/**
 * stdout of `--output-format json`, and the session file: the same records, and some that only one channel has.
 * Envelope: `{type, data, id, timestamp, parentId, ephemeral?, agentId?}`; `agentId` names the speaking sub-agent.
 */
import { decoder, type Table } from '../kit/decoder.ts';
import { type Drafts, OK } from '../kit/drafts.ts';
import {
  codeOf,
  countOf,
  idOf,
  isNative,
  listOf,
  nativeOf,
  statusOf,
  textOf,
  wordOf,
} from '../kit/native.ts';
import { Ending } from './messages.ts';
import { type Data, IGNORED, NOTICES, type Records } from './records.ts';
import { Spending } from './usage.ts';

type Rows = { readonly [K in keyof Records]?: (data: Data<K>) => void };

/** `session.info` types that other records repeat. */
const INFOS_IGNORED: ReadonlySet<string> = new Set(['cancellation', 'file_created', 'model_retry']);

export const stream = () => decoderSince(undefined, false);

/** `since_ms`: only the session's own facts count from earlier records. */
export const decoderSince = (since_ms: number | undefined, filed = true) =>
  decoder<Records>((to) => {
    const run = runOf(to);
    return {
      since_ms,
      inside,
      before(record, _part, earlier) {
        run.calls.speaker(record);
        if (!earlier) return;
        run.spending.shared = true;
        if (record.type === 'session.start') run.talk.start(nativeOf(record.data) ?? {});
      },
      records: {
        ...ofData(to, { ...talkRows(run), ...callRows(run), ...sessionRows(run) }),
        result(record) {
          const code = codeOf(record.exitCode);
          const error = code === null ? 'the end record has no exit code' : `exit code ${code}`;
          run.talk.introduce({ session_id: idOf(record.sessionId) });
          run.ending.end(code === 0 ? OK : { exit_reason: 'agent_error', error });
        },
      },
      ignored: IGNORED,
      notices: [...NOTICES.keys()],
      noticeText: ({ type, data }) => textOf(nativeOf(data)?.[NOTICES.get(wordOf(type)) ?? '']),
      end: () => run.ending.close(filed),
    };
  });

type Run = ReturnType<typeof runOf>;
function runOf(to: Drafts) {
  const ending = new Ending(to);
  const { talk } = ending;
  return { to, calls: talk.calls, talk, ending, spending: new Spending(to) };
}

/** A host's log of the SDK's events: `{dir, t, msg}`. */
function inside(value: unknown): readonly unknown[] | null {
  if (!isNative(value) || typeof value.type === 'string') return null;
  const { dir, msg } = value;
  if (typeof dir !== 'string' || !isNative(msg)) return null;
  if (dir === 'event' && typeof msg.type === 'string') return [msg];
  // Another protocol, which no row handles.
  return msg.jsonrpc === undefined ? [] : [{ type: 'a JSON-RPC message' }];
}

/** Rows that receive the `data` of the envelope. */
function ofData(to: Drafts, rows: Rows): Table<Records>['records'] {
  const wrapped = Object.entries(rows).map(([kind, row]) => [
    kind,
    (record: { data?: unknown }) => {
      const data = nativeOf(record.data);
      const { written } = to;
      (row as (data: object) => void)(data ?? {});
      if (data === null && to.written === written) to.bad(`${kind} without data`);
    },
  ]);
  return Object.fromEntries(wrapped);
}

const talkRows = ({ to, talk, ending }: Run): Rows => ({
  'assistant.message_delta': (data) =>
    talk.delta('message_delta', data.deltaContent, data.messageId),
  'assistant.reasoning_delta': (data) =>
    talk.delta('thinking_delta', data.deltaContent, data.reasoningId),
  'assistant.message': (data) => talk.message(data),
  'assistant.reasoning': (data) => talk.thought(data.content, idOf(data.reasoningId)),
  'assistant.turn_start'(data) {
    if (!to.root) return;
    ending.continues();
    talk.turn(data);
  },
  'assistant.turn_end'() {
    if (to.root) talk.settleTurn();
  },
  'user.message'(data) {
    if (to.root) ending.continues();
    talk.user(data);
  },
});

const callRows = ({ to, calls }: Run): Rows => ({
  'tool.execution_start': (data) => calls.take(data),
  'tool.execution_complete': (data) => calls.finish(data),
  'tool.shell_output': (data) => calls.progress(data.toolCallId, data.text, data.stream),
  'tool.execution_progress': (data) => calls.progress(data.toolCallId, data.progressMessage, null),
  // Its text repeats the shell output.
  'tool.execution_partial_result': (data) => calls.runs(idOf(data.toolCallId)),
  'tool.user_requested': (data) => calls.foreign(data),
  'subagent.started': (data) => calls.subAgent(idOf(data.toolCallId)),
  'subagent.failed'(data) {
    calls.background.agentFailed(idOf(data.toolCallId));
    to.notice('subagent.failed', textOf(data.error));
  },
  'agent.interrupted'(data) {
    for (const id of listOf(data.toolCallIds)) calls.runs(textOf(id));
  },
  'permission.requested': (data) => calls.asked(data),
  'permission.completed': (data) => calls.answered(data),
  'skill.invoked': (data) => calls.skillInvoked(idOf(data.name)),
  'system.notification'(data) {
    calls.background.notified(nativeOf(data.kind));
    to.notice('system.notification', textOf(data.content));
  },
});

function sessionRows({ to, calls, talk, ending, spending }: Run): Rows {
  let failed_call: Data<'model.call_failure'> | null = null;
  return {
    'session.start': (data) => talk.start(data),
    // Another process continues the session. Earlier records stay visible, but their cost does not belong to this run.
    'session.resume'(data) {
      if (!to.root) return;
      talk.start(data);
      talk.settleTurn();
      calls.abandon();
      ending.continues();
      spending.startOver();
    },
    'session.tools_updated': (data) => talk.introduce({ model: idOf(data.model) }),
    'model.call_start': (data) => talk.introduce({ model: idOf(data.model) }),
    'session.model_change': (data) => talk.introduce({ model: idOf(data.newModel) }),
    'model.call_failure'(data) {
      failed_call = data;
    },
    'assistant.turn_retry'(data) {
      const before = countOf(failed_call?.retryAttempt);
      const attempt = before === null ? null : before + 1;
      const status = statusOf(failed_call?.statusCode);
      to.retried({ attempt, status }, { native_kind: textOf(data.reason) });
    },
    abort: (data) => ending.abort(data),
    'session.error': (data) => ending.error(data),
    'session.usage_record': (data) => spending.call('session.usage_record', data),
    'assistant.usage': (data) => spending.call('assistant.usage', data),
    'session.shutdown'(data) {
      if (!to.root) return;
      spending.total(data);
      const error = textOf(data.errorReason) ?? 'the session was shut down by an error';
      ending.end(data.shutdownType === 'error' ? { exit_reason: 'agent_error', error } : OK);
    },
    'hook.end'({ hookType, success, error }) {
      const event = textOf(hookType);
      const outcome = success === true ? 'success' : success === false ? 'error' : null;
      const output = textOf(nativeOf(error)?.message);
      to.put('hook_finished', { name: event ?? '', event, exit_code: null, outcome, output });
    },
    'session.info'(data) {
      const info = textOf(data.infoType) ?? 'session.info';
      if (!INFOS_IGNORED.has(info)) to.notice(info, textOf(data.message));
    },
  };
}
