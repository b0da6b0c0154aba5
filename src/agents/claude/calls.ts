/** Tool calls and their results. Shared by stdout and session files. */

import { RecentMap, RecentSet } from '../../lib/bounded.ts';
import { isLonger } from '../../lib/byte-text.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { DataOf } from '../../model/event.ts';
import type { CallStatus, Decision } from '../../model/words.ts';
import { Writer } from '../kit/drafts.ts';
import { idOf, listOf, nativeOf, type Open, textOf } from '../kit/native.ts';
import { SubAgents } from '../kit/sub-agents.ts';
import { contentText } from '../kit/text.ts';
import { fileChanged, pathOf } from './files.ts';
import type { Stdout } from './generated/native.ts';
import type { Block } from './records.ts';

interface Call {
  readonly tool: string;
  /** The file a file tool works on; null for other tools. */
  readonly path: string | null;
  decision: Decision | null;
}

/** Facts that a result's record holds next to the block itself, from either channel's fields. */
export interface ResultFacts {
  /** The tool's structured result (`tool_use_result`, `toolUseResult`). */
  readonly detail: Open | null;
  /** Why the call did not run (`non_execution_kind`, `toolDenialKind`). */
  readonly kind: string | null;
  /** `permission_decision`, `permissionDecision`. */
  readonly decision: Open | null;
}

interface Task {
  readonly call_id: string | null;
  readonly status: string | null;
  readonly summary: string;
}

const EXIT_CODE = /^Exit code (\d{1,9})(?:\n|$)/;
const TIMED_OUT = /^(?:Exit code \d{1,9}\n)?Command timed out after /;
const SUMMARY_CODE = /\bexit code (\d{1,9})\)?$/;
const SIBLING_FAILED = /^<tool_use_error>(?:Cancelled:|Sibling tool call errored)/;
/** Text of both refused and interrupted calls: only the end of the turn shows which. */
const REJECTED = "The user doesn't want to";
export const INTERRUPTED = '[Request interrupted by user';
/** Beginnings of refusals in earlier versions, which record no decision. */
const REFUSALS = [
  'Claude requested permissions to ',
  'Permission to use ',
  'This command requires approval',
  'User refused permission to run tool',
];
const BLOCKED = /^\w+ in '[^\r\n]+' was blocked\. For security, /;
const SKILL_BODY = 'Base directory for this skill: ';
const SKILL_PROMPT = 'skill ';
/** Tools that may continue to work after their result. */
const TASK_TOOLS: ReadonlySet<string> = new Set(['Bash', 'Agent', 'Task']);
const SUB_AGENTS: ReadonlySet<string> = new Set(['Agent', 'Task']);

export class Calls extends Writer {
  readonly #open = new RecentMap<string, Call>(LIMITS.open_calls_max);
  /** Calls with a result that may continue in the background: id → native tool. */
  readonly #finished = new RecentMap<string, string>(LIMITS.open_calls_max);
  readonly #denied = new RecentSet<string>(LIMITS.open_calls_max);
  /** Calls that were refused or interrupted; the end of the turn decides which. */
  readonly #rejected = new RecentSet<string>(LIMITS.open_calls_max);
  readonly #sub_agents = new SubAgents();
  /** Permission questions from the CLI to its host, by request id. */
  readonly #asked = new RecentMap<string, Pick<DataOf<'permission_asked'>, 'call_id' | 'tool'>>(
    LIMITS.open_calls_max,
  );

  request(block: Block): void {
    const call = this.to.callIn(block.id, block.name, 'tool_use without id or name');
    if (call === null) return;
    const { call_id, native_tool } = call;
    const path = pathOf(native_tool, block.input);
    this.#open.set(call_id, { tool: native_tool, path, decision: null });
    this.#sub_agents.ask(promptOf(native_tool, nativeOf(block.input)), call_id);
    this.to.requested(call_id, native_tool, block.input ?? {});
  }

  /** The call that started a sub-agent. `begin`: the sub-agent's first text, if the record has it. */
  parentOf(agent: string, begin: string | null): string | null {
    const skill = begin === null ? null : skillOf(begin);
    return this.#sub_agents.parentOf(agent, skill === null ? begin : SKILL_PROMPT + skill);
  }

  /** Records a decision once per call, even if the records repeat it. */
  decide(call_id: string, decision: Decision, reason: string | null, source: string | null): void {
    const call = this.#open.get(call_id);
    if (call?.decision) return;
    if (call) call.decision = decision;
    this.to.decided(call_id, decision, reason, source);
  }

  /** The CLI asks its host whether a call may run. Other requests (interrupt, set_model …) are not about a call. */
  asked(record: Stdout['control_request']): void {
    const request = this.to.need(nativeOf(record.request), 'control_request without request');
    if (request?.subtype !== 'can_use_tool') return;
    const request_id = idOf(record.request_id);
    const call_id = idOf(request.tool_use_id);
    const tool = textOf(request.tool_name);
    if (request_id !== null) this.#asked.set(request_id, { call_id, tool });
    const reason = textOf(request.decision_reason) ?? textOf(request.description);
    this.to.put('permission_asked', { request_id, call_id, tool, reason });
  }

  answered(record: Stdout['control_response']): void {
    const response = nativeOf(record.response);
    const request_id = idOf(response?.request_id);
    const asked = this.#asked.get(request_id ?? '');
    if (!response || request_id === null || !asked) return;
    this.#asked.delete(request_id);
    const answer = nativeOf(response.response);
    const decision = answer?.behavior === 'allow' ? 'allow' : 'deny';
    const source = 'host';
    this.to.put('permission_answered', { request_id, ...asked, decision, source });
    if (asked.call_id === null) return;
    this.decide(asked.call_id, decision, textOf(answer?.message), source);
  }

  finish(block: Block, facts: ResultFacts): void {
    const call_id = this.to.need(idOf(block.tool_use_id), 'tool_result without tool_use_id');
    if (call_id === null) return;
    const call = this.#open.get(call_id);
    const output = contentText(block.content);
    const failed = block.is_error === true;
    const doubtful = failed && call?.decision !== 'deny' && output?.startsWith(REJECTED);
    if (facts.decision && !doubtful) this.#decideLate(call_id, facts.decision);
    const status = doubtful ? 'cancelled' : statusOf(failed, output ?? '', call, facts);
    if (doubtful) this.#rejected.add(call_id);
    else if (status === 'denied') this.#denied.add(call_id);
    const code = failed && call?.tool === 'Bash' ? EXIT_CODE.exec(output ?? '') : null;
    const exit_code = code ? Number(code[1]) : null;
    this.to.finished({ call_id, status, exit_code, output });
    if (call === undefined) return;
    this.#open.delete(call_id);
    if (TASK_TOOLS.has(call.tool)) this.#finished.set(call_id, call.tool);
    if (status !== 'ok' || call.path === null) return;
    const changed = fileChanged(call.tool, call.path, facts.detail);
    this.to.put('file_changed', { ...changed, call_id });
  }

  /** A background task ended. A foreground call is still open: its own result follows and says more. */
  notify(task: Task): void {
    if (task.call_id === null || this.#open.has(task.call_id)) return;
    const tool = this.#finished.get(task.call_id);
    if (tool === undefined || task.status === 'running') return;
    const code = tool === 'Bash' ? SUMMARY_CODE.exec(task.summary) : null;
    const exit_code = code ? Number(code[1]) : null;
    let status: CallStatus | null = null;
    if (task.status === 'failed' || (exit_code !== null && exit_code !== 0)) status = 'error';
    if (task.status === 'killed' || task.status === 'stopped') status = 'cancelled';
    this.#finished.delete(task.call_id);
    if (status !== null || exit_code !== null) this.to.updated(task.call_id, status, exit_code);
  }

  /** Separates refused from interrupted calls at the end of a turn. Until then all count as interrupted. */
  settle(aborted: boolean): void {
    if (this.#rejected.size === 0) return;
    for (const call_id of this.#rejected) {
      this.#denied.add(call_id);
      if (!aborted) this.to.updated(call_id, 'denied');
    }
    this.#rejected.clear();
  }

  /** The end record's list of refused calls. It also names calls with results that did not show the refusal. */
  refused(denials: unknown): void {
    for (const denial of listOf(denials)) {
      const call_id = idOf(nativeOf(denial)?.tool_use_id);
      if (call_id === null || this.#denied.has(call_id) || this.#open.has(call_id)) continue;
      this.#denied.add(call_id);
      this.to.updated(call_id, 'denied');
    }
  }

  #decideLate(call_id: string, said: Open): void {
    const accepted = said.decision === 'accept';
    if (!accepted && said.decision !== 'reject') return;
    const reason = textOf(said.reason_type) ?? textOf(said.reasonType);
    this.decide(call_id, accepted ? 'allow' : 'deny', reason, textOf(said.source));
  }
}

/** First text of the sub-agent that this call starts; null if it starts none. A skill may run in its own sub-agent. */
function promptOf(native_tool: string, input: Open | null): string | null {
  if (SUB_AGENTS.has(native_tool)) return textOf(input?.prompt);
  const skill = native_tool === 'Skill' ? textOf(input?.skill) : null;
  // A plugin's skill is called `<plugin>:<skill>`; its folder is named after the skill only.
  return skill === null ? null : SKILL_PROMPT + skill.slice(skill.lastIndexOf(':') + 1);
}

/** The skill with this text as its body, by the name of its folder; null if the text is not a skill's body. */
export function skillOf(text: string): string | null {
  if (!text.startsWith(SKILL_BODY)) return null;
  const [line = ''] = text.slice(SKILL_BODY.length).split('\n', 1);
  if (isLonger(line, LIMITS.path_chars_max)) return null;
  return line.split(/[\\/]/).findLast((piece) => piece !== '') ?? null;
}

function statusOf(
  failed: boolean,
  text: string,
  call: Call | undefined,
  facts: ResultFacts,
): CallStatus {
  const interrupted = facts.detail?.interrupted === true;
  if (!failed) return interrupted ? 'cancelled' : 'ok';
  if (call?.decision === 'deny' || facts.decision?.decision === 'reject') return 'denied';
  if (text.startsWith(INTERRUPTED)) return 'cancelled';
  if (facts.kind === 'user-rejected' || facts.kind === 'permission-rule') return 'denied';
  if (call?.tool === 'Bash' && TIMED_OUT.test(text)) return 'timeout';
  if (interrupted || SIBLING_FAILED.test(text)) return 'cancelled';
  const refused = BLOCKED.test(text) || REFUSALS.some((start) => text.startsWith(start));
  if (facts.decision === null && refused) return 'denied';
  return 'error';
}
