/**
 * stdout: `--output-format stream-json`. Messages in the format of chat completions, and `meta` records. A result has
 * no status: unless its text shows a failure, the status is unknown until the session file is read. A call is printed
 * together with the first result of its turn.
 */
import { RecentMap } from '../../lib/bounded.ts';
import { jsonInside } from '../../lib/byte-text.ts';
import { LIMITS } from '../../lib/limits.ts';
import { decoder } from '../kit/decoder.ts';
import { OK, Writer } from '../kit/drafts.ts';
import { retryOf } from '../kit/failures.ts';
import { idOf, listOf, nativeOf, type Open, statusOf, textOf } from '../kit/native.ts';
import type { Stdout } from './generated/native.ts';
import { endIn } from './results.ts';

function kindOf({ role, type }: Open): string | null {
  if (role === 'meta') return `meta/${textOf(type) ?? 'no type'}`;
  return textOf(role) ?? textOf(type);
}

export const stream = () =>
  decoder<Stdout>((to) => {
    const talk = new Talk(to);
    return {
      kindOf,
      records: {
        assistant: (record) => talk.assistant(record),
        tool: (record) => talk.result(record),
        'meta/system.version': (record) => to.session({ agent_version: textOf(record.version) }),
        'meta/turn.step.retrying'(record) {
          const { next_attempt, max_attempts, delay_ms } = record;
          const failure = {
            native_kind: idOf(record.error_name),
            status: statusOf(record.status_code),
            message: textOf(record.error_message) ?? '',
          };
          to.retried(retryOf(next_attempt, max_attempts, delay_ms), failure);
        },
        /** Printed only after the prompt was completed. */
        'meta/session.resume_hint'(record) {
          const session_id = to.need(idOf(record.session_id), 'session.resume_hint without id');
          if (session_id !== null) to.session({ session_id });
          to.ended(OK);
        },
      },
      notices: ['goal.summary'],
      noticeText: ({ status }) => textOf(status),
    };
  });

class Talk extends Writer {
  /** Tools of calls without a result. */
  readonly #tools = new RecentMap<string, string>(LIMITS.open_calls_max);

  assistant(record: Stdout['assistant']): void {
    this.to.step(null);
    const text = textOf(record.content);
    if (text !== null) this.to.message('assistant', text);
    for (const item of listOf(record.tool_calls)) {
      const call = nativeOf(item);
      const asked = nativeOf(call?.function);
      const named = this.to.callIn(call?.id, asked?.name, 'tool call without id or name');
      if (named === null) continue;
      const { call_id, native_tool } = named;
      const given = textOf(asked?.arguments);
      this.#tools.set(call_id, native_tool);
      this.to.requested(call_id, native_tool, given === null ? null : (jsonInside(given) ?? given));
    }
  }

  result(record: Stdout['tool']): void {
    const call_id = this.to.need(idOf(record.tool_call_id), 'tool result without id');
    if (call_id === null) return;
    const output = textOf(record.content);
    const end = endIn(this.#tools.get(call_id) ?? null, output);
    this.#tools.delete(call_id);
    this.to.finished({ call_id, output, ...(end ?? { status: 'unknown', exit_code: null }) });
  }
}
