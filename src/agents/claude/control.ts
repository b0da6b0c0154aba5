/** The control protocol on stdio: the CLI asks its host whether a call may run. */
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import type { Calls } from './calls.ts';
import { idOf, type Native, nativeOf, problem, textOf } from './native.ts';

interface Asked {
  readonly call_id: string | null;
  readonly tool: string | null;
}

export class Control {
  readonly #calls: Calls;
  readonly #asked = new Map<string, Asked>();

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  request(record: Native, out: Draft[]): void {
    const request = nativeOf(record.request);
    if (!request) {
      out.push(problem('bad_record', 'control_request without request'));
      return;
    }
    // Other requests (initialize, interrupt, set_model …) ask nothing about a call.
    if (request.subtype !== 'can_use_tool') return;
    const request_id = idOf(record.request_id);
    const call_id = idOf(request.tool_use_id);
    const tool = textOf(request.tool_name);
    if (request_id !== null && this.#asked.size < LIMITS.open_calls_max) {
      this.#asked.set(request_id, { call_id, tool });
    }
    const reason = textOf(request.decision_reason) ?? textOf(request.description);
    out.push({ kind: 'permission_asked', data: { request_id, call_id, tool, reason } });
  }

  response(record: Native, out: Draft[]): void {
    const response = nativeOf(record.response);
    const request_id = idOf(response?.request_id);
    const asked = request_id === null ? undefined : this.#asked.get(request_id);
    if (!response || request_id === null || !asked) return;
    this.#asked.delete(request_id);
    const answer = nativeOf(response.response);
    const decision = answer?.behavior === 'allow' ? 'allow' : 'deny';
    const { call_id, tool } = asked;
    const source = 'host';
    out.push({
      kind: 'permission_answered',
      data: { request_id, call_id, tool, decision, source },
    });
    if (call_id === null) return;
    this.#calls.decide(call_id, decision, { reason: textOf(answer?.message), source }, out);
  }
}
