/** The end of a prompt: the reason in its answer, or an error. */
import { own } from '../../lib/own.ts';
import type { ExitReason } from '../../model/words.ts';
import { type Drafts, type End, endFor } from '../kit/drafts.ts';
import { codeOf, nativeOf, textOf } from '../kit/native.ts';
import { type Fault, firstText } from './protocol.ts';

/** `max_tokens` is the model's limit for one answer; the run has ended normally. */
const STOP_REASONS: Readonly<Record<string, ExitReason>> = {
  end_turn: 'ok',
  max_tokens: 'ok',
  max_turn_requests: 'max_steps',
  refusal: 'agent_error',
  cancelled: 'cancelled',
};
const ERRORS: Partial<Record<ExitReason, string>> = {
  cancelled: 'the turn was cancelled',
  denied: 'the agent stopped when a permission was refused',
  max_steps: 'the turn limit was reached',
};
/** Without these there is no run. */
const FATAL_METHODS = ['initialize', 'session/load', 'session/new', 'session/resume'];
/** The code of an error that the agent could not handle: a failure of the model API. */
const INTERNAL_ERROR = -32603;
/** `Internal error: 400 invalid request` */
const STATUS_IN_TEXT = /(?:^|: )([45]\d\d)\b/;

/** `refused`: a refused call was the last event. */
export function endBy(reason: string, refused: boolean): End {
  const known = own(STOP_REASONS, reason) ?? 'agent_error';
  const exit_reason = known === 'ok' && refused ? 'denied' : known;
  return endFor(exit_reason, own(ERRORS, exit_reason) ?? `the agent stopped: ${reason}`);
}

/** The error answers a request of this method; null: the prompt. */
export function putError(to: Drafts, method: string | null, error: Fault): void {
  const code = codeOf(error.code);
  const message = messageOf(error);
  const status = httpStatus(code) ?? httpStatus(Number(STATUS_IN_TEXT.exec(message)?.[1]));
  const provider = code === INTERNAL_ERROR || httpStatus(code) !== null;
  if (method !== null && !FATAL_METHODS.includes(method)) to.notice(method, message);
  else if (method !== null || !provider) to.ended(endFor('agent_error', message));
  else {
    to.failed({ status, message });
    to.ended(endFor('provider_error', message));
  }
}

function httpStatus(code: number | null): number | null {
  return code !== null && code >= 400 && code <= 599 ? code : null;
}

/** The message is general; `data` has the details. */
function messageOf(error: Fault): string {
  const { data } = error;
  const detail = textOf(data) ?? firstText(nativeOf(data), ['details', 'detail', 'message']);
  const message = textOf(error.message) ?? 'the agent answered with an error';
  return detail === null || message.includes(detail) ? message : `${message}: ${detail}`;
}
