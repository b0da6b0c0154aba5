/** `codex app-server`: one JSON-RPC message per line, from the server and, if both directions were kept, the client. */
import { RecentMap } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import { decoder } from '../kit/decoder.ts';
import { type Drafts, Writer } from '../kit/drafts.ts';
import { idOf, momentOf, nativeOf, textOf } from '../kit/native.ts';
import { words } from '../kit/text.ts';
import { retried } from './failures.ts';
import type { Answer, Messages, Params } from './native.ts';
import { Turns } from './turns.ts';

/** Bookkeeping of either side, or facts that items repeat. */
const IGNORED = words(`
  account/chatgptAuthTokens/refresh account/login/completed account/rateLimits/updated
  account/updated app/list/updated attestation/generate command/exec/outputDelta
  externalAgentConfig/import/completed fs/changed fuzzyFileSearch/sessionCompleted
  fuzzyFileSearch/sessionUpdated hook/completed hook/started initialize initialized
  item/autoApprovalReview/completed item/autoApprovalReview/started
  item/commandExecution/terminalInteraction item/fileChange/patchUpdated item/plan/delta
  item/reasoning/summaryPartAdded item/tool/call item/tool/requestUserInput
  mcpServer/oauthLogin/completed mcpServer/startupStatus/updated model/list model/verification
  rawResponseItem/completed remoteControl/status/changed review/start skills/changed
  thread/archived thread/closed thread/fork thread/goal/cleared thread/goal/updated
  thread/name/updated thread/resume thread/settings/updated thread/start thread/status/changed
  thread/unarchived turn/diff/updated turn/interrupt turn/start turn/steer
  windowsSandbox/setupCompleted
`);
const NOTICES = words(`
  configWarning deprecationNotice guardianWarning model/rerouted thread/compacted warning
  windows/worldWritableWarning
`);
const ALLOWED = /^(?:accept|approved)/;

export const server = () =>
  decoder<Messages>((to) => {
    const turns = new Turns(to);
    const questions = new Questions(to);
    const ask = (tool: string | null) => (message: { id?: unknown; params?: unknown }) =>
      questions.ask(tool, message.id, paramsOf(message));
    const prints = of((piece) => {
      const text = textOf(piece.delta) ?? textOf(piece.message);
      if (text !== null) to.progress(idOf(piece.itemId), text);
    });
    const thinks = of((piece) => turns.delta('thinking_delta', piece));
    return {
      kindOf: ({ method }) => textOf(method) ?? 'answer',
      timeOf: ({ emittedAtMs }) => momentOf(emittedAtMs),
      records: {
        ...Object.fromEntries(NOTICES.map((method) => [method, noticed(to, method)])),
        'thread/started': of(({ thread }) => turns.introduce(nativeOf(thread), {})),
        'thread/tokenUsage/updated': of((params) => turns.usage(params)),
        'turn/started': of((params) => turns.started(params)),
        'turn/completed': of((params) => turns.completed(params)),
        'turn/plan/updated': of((params) => turns.plan(params)),
        error: of((params) => failing(to, params)),
        'item/started': of((params) => turns.item('started', params)),
        'item/completed': of((params) => turns.item('completed', params)),
        'item/agentMessage/delta': of((piece) => turns.delta('message_delta', piece)),
        'item/reasoning/summaryTextDelta': thinks,
        'item/reasoning/textDelta': thinks,
        'item/commandExecution/outputDelta': prints,
        'item/fileChange/outputDelta': prints,
        'item/mcpToolCall/progress': prints,
        'item/commandExecution/requestApproval': ask('commandExecution'),
        'item/fileChange/requestApproval': ask('fileChange'),
        'item/permissions/requestApproval': ask(null),
        'mcpServer/elicitation/request': ask(null),
        'serverRequest/resolved': of(({ requestId }) => questions.resolved(requestId)),
        answer(message) {
          const result = nativeOf(message.result);
          if (questions.answered(message.id, result)) return;
          const error = nativeOf(message.error);
          if (error !== null) to.notice('error', textOf(error.message));
          turns.introduce(nativeOf(result?.thread), result ?? {});
        },
      },
      ignored: IGNORED,
    };
  });

const paramsOf = ({ params }: { readonly params?: unknown }): Params => nativeOf(params) ?? {};

/** A row that receives a message's parameters. */
const of = (row: (params: Params) => void) => (message: { readonly params?: unknown }) =>
  row(paramsOf(message));

const noticed = (to: Drafts, method: string) =>
  of(({ message, summary }) => to.notice(method, textOf(message) ?? textOf(summary)));

/** A retry, or the failure that the end of the turn repeats. */
function failing(to: Drafts, params: Params): void {
  const error = nativeOf(params.error);
  const message = textOf(error?.message) ?? '';
  const details = textOf(error?.additionalDetails);
  const whole = details === null ? message : `${message} (${details})`;
  if (params.willRetry === true) retried(to, whole, error?.codexErrorInfo);
  else to.notice('error', message);
}

/** The server asks its client for permission. */
class Questions extends Writer {
  readonly #asked = new RecentMap<unknown, { call_id: string | null; tool: string | null }>(
    LIMITS.open_calls_max,
  );

  /** `tool`: the tool in question, if the question names one. */
  ask(tool: string | null, id: unknown, question: Params): void {
    const call_id = idOf(question.itemId);
    const reason = textOf(question.reason) ?? textOf(question.message);
    this.#asked.set(id, { call_id, tool });
    this.to.put('permission_asked', { request_id: nameOf(id), call_id, tool, reason });
  }

  /** Both sides number their own requests, so an answer to a question is recognised by its fields. */
  answered(id: unknown, result: Answer | null): boolean {
    const answer = result?.decision ?? result?.action;
    const asked = this.#asked.get(id);
    if (answer === undefined || asked === undefined) return false;
    this.#asked.delete(id);
    const word = textOf(answer) ?? Object.keys(nativeOf(answer) ?? {})[0] ?? '';
    const decision = ALLOWED.test(word) ? 'allow' : 'deny';
    const source = 'host';
    this.to.put('permission_answered', { request_id: nameOf(id), ...asked, decision, source });
    if (asked.call_id !== null) this.to.decided(asked.call_id, decision, null, source);
    return true;
  }

  resolved(id: unknown): void {
    this.#asked.delete(id);
  }
}

const nameOf = (id: unknown) => (typeof id === 'number' ? String(id) : idOf(id));
