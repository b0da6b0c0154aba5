/** The control protocol on stdio: the CLI asks its host whether a call may run. */
import { RecentMap } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Drafts } from '../kit/drafts.ts';
import { idOf, nativeOf, textOf } from '../kit/native.ts';
import type { Calls } from './calls.ts';
import type { Stdout } from './generated/native.ts';

export class Control {
  readonly #to: Drafts;
  readonly #calls: Calls;
  readonly #asked = new RecentMap<string, { call_id: string | null; tool: string | null }>(
    LIMITS.open_calls_max,
  );

  constructor(to: Drafts, calls: Calls) {
    this.#to = to;
    this.#calls = calls;
  }

  request(record: Stdout['control_request']): void {
    const request = nativeOf(record.request);
    if (!request) {
      this.#to.bad('control_request without request');
      return;
    }
    // Other requests (initialize, interrupt, set_model …) ask nothing about a call.
    if (request.subtype !== 'can_use_tool') return;
    const request_id = idOf(record.request_id);
    const call_id = idOf(request.tool_use_id);
    const tool = textOf(request.tool_name);
    if (request_id !== null) this.#asked.set(request_id, { call_id, tool });
    const reason = textOf(request.decision_reason) ?? textOf(request.description);
    this.#to.put('permission_asked', { request_id, call_id, tool, reason });
  }

  response(record: Stdout['control_response']): void {
    const response = nativeOf(record.response);
    const request_id = idOf(response?.request_id);
    const asked = request_id === null ? undefined : this.#asked.get(request_id);
    if (!response || request_id === null || !asked) return;
    this.#asked.delete(request_id);
    const answer = nativeOf(response.response);
    const decision = answer?.behavior === 'allow' ? 'allow' : 'deny';
    const source = 'host';
    this.#to.put('permission_answered', { request_id, ...asked, decision, source });
    if (asked.call_id === null) return;
    this.#calls.decide(asked.call_id, decision, textOf(answer?.message), source);
  }
}
