/** Tool calls: what a result says about its call. Shared by stdout and session files. */
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import type { CallStatus, Decision } from '../../model/words.ts';
import { fileChanged, isFileTool, pathOf } from './files.ts';
import { contentText, idOf, type Native, nativeOf, problem, textOf } from './native.ts';

interface Call {
  readonly tool: string;
  /** The file a file tool works on; null for other tools. */
  readonly path: string | null;
  decision: Decision | null;
}

/** What a result's record says beside the block itself, in either channel's spelling. */
export interface ResultFacts {
  readonly at_ms: number | undefined;
  /** The tool's structured result (`tool_use_result`, `toolUseResult`). */
  readonly detail: unknown;
  /** Why the call did not run (`non_execution_kind`, `toolDenialKind`). */
  readonly kind: string | null;
  /** `permission_decision`, `permissionDecision`. */
  readonly decision: Native | null;
}

const EXIT_CODE = /^Exit code (\d{1,9})(?:\n|$)/;
const TIMED_OUT = /^(?:Exit code \d{1,9}\n)?Command timed out after /;
const SUMMARY_CODE = /\bexit code (\d{1,9})\)?$/;
const SIBLING_FAILED = /^<tool_use_error>(?:Cancelled:|Sibling tool call errored)/;
/** Said of a refused call, and of a call that an interruption ended: only the end of the turn tells which. */
const REJECTED = "The user doesn't want to";
export const INTERRUPTED = '[Request interrupted by user';
/** Refusals as earlier versions say them, without a decision beside. */
const REFUSALS = [
  'Claude requested permissions to ',
  'Permission to use ',
  'This command requires approval',
  'User refused permission to run tool',
];
const BLOCKED = /^\w+ in '.{1,1000}' was blocked\. For security, /;
const SKILL_BODY = 'Base directory for this skill: ';
const SKILL_PROMPT = 'skill ';
/** Tools whose work may outlast their result. */
const TASK_TOOLS: ReadonlySet<string> = new Set(['Bash', 'Agent', 'Task']);
const SUB_AGENTS: ReadonlySet<string> = new Set(['Agent', 'Task']);

/** The older half goes when a collection would grow without bound. */
function trim(held: Map<string, unknown> | Set<string>): void {
  if (held.size <= LIMITS.open_calls_max) return;
  for (const key of held.keys()) {
    if (held.size <= LIMITS.open_calls_max / 2) return;
    held.delete(key);
  }
}

export class Calls {
  readonly #open = new Map<string, Call>();
  /** Calls with a result that may go on in the background: id → native tool. */
  readonly #finished = new Map<string, string>();
  readonly #denied = new Set<string>();
  /** Sub-agents asked for, until one is seen to begin with that prompt. */
  readonly #asked: { readonly prompt: string; readonly call_id: string }[] = [];
  /** Calls that were refused or interrupted: the turn's end will tell. */
  readonly #rejected = new Set<string>();

  request(block: Native, parent: string | null, at_ms: number | undefined, out: Draft[]): void {
    const call_id = idOf(block.id);
    const native_tool = idOf(block.name);
    if (call_id === null || native_tool === null) {
      out.push(problem('bad_record', 'tool_use without id or name'));
      return;
    }
    const path = isFileTool(native_tool) ? pathOf(block.input) : null;
    this.#open.set(call_id, { tool: native_tool, path, decision: null });
    trim(this.#open);
    const prompt = promptOf(native_tool, nativeOf(block.input));
    if (prompt !== null) this.#asked.push({ prompt, call_id });
    if (this.#asked.length > LIMITS.unclaimed_prompts_max) this.#asked.shift();
    out.push({
      kind: 'call_requested',
      at_ms,
      data: { call_id, native_tool, input: block.input ?? {}, parent_call_id: parent },
    });
  }

  /** The call that started the sub-agent which begins with this prompt; each is claimed once. */
  claim(begin: string): string | null {
    const skill = skillOf(begin);
    const prompt = skill === null ? begin : SKILL_PROMPT + skill;
    const at = this.#asked.findIndex((asked) => asked.prompt === prompt);
    return at < 0 ? null : (this.#asked.splice(at, 1)[0]?.call_id ?? null);
  }

  /** A decision is shown once per call, however often the records repeat it. */
  decide(
    call_id: string,
    decision: Decision,
    why: { reason: string | null; source: string | null; at_ms?: number | undefined },
    out: Draft[],
  ): void {
    const call = this.#open.get(call_id);
    if (call?.decision) return;
    if (call) call.decision = decision;
    const data = { call_id, decision, reason: why.reason, source: why.source };
    out.push({ kind: 'call_decided', at_ms: why.at_ms, data });
  }

  finish(block: Native, facts: ResultFacts, out: Draft[]): void {
    const call_id = idOf(block.tool_use_id);
    if (call_id === null) {
      out.push(problem('bad_record', 'tool_result without tool_use_id'));
      return;
    }
    const call = this.#open.get(call_id);
    const output = contentText(block.content);
    const failed = block.is_error === true;
    const doubtful = failed && call?.decision !== 'deny' && output?.startsWith(REJECTED);
    if (facts.decision && !doubtful) this.#decideLate(call_id, facts.decision, facts.at_ms, out);
    const status = doubtful ? 'cancelled' : statusOf(failed, output ?? '', call, facts);
    if (doubtful) {
      this.#rejected.add(call_id);
      trim(this.#rejected);
    } else if (status === 'denied') {
      this.#denied.add(call_id);
      trim(this.#denied);
    }
    const code = failed && call?.tool === 'Bash' ? EXIT_CODE.exec(output ?? '') : null;
    const exit_code = code ? Number(code[1]) : null;
    out.push({
      kind: 'call_finished',
      at_ms: facts.at_ms,
      data: { call_id, status, exit_code, output },
    });
    if (call) this.#close(call_id, call, status === 'ok' ? facts : null, out);
  }

  /** `succeeded`: the facts of a call that did what it was asked to. */
  #close(call_id: string, call: Call, succeeded: ResultFacts | null, out: Draft[]): void {
    this.#open.delete(call_id);
    if (TASK_TOOLS.has(call.tool)) {
      this.#finished.set(call_id, call.tool);
      trim(this.#finished);
    }
    if (succeeded === null || call.path === null) return;
    const changed = fileChanged(call.tool, call.path, nativeOf(succeeded.detail));
    out.push({ kind: 'file_changed', at_ms: succeeded.at_ms, data: { ...changed, call_id } });
  }

  /** A background task has ended. A foreground one's call is still open: its own result follows and says more. */
  notify(
    task: { call_id: string | null; status: string | null; summary: string },
    at_ms: number | undefined,
    out: Draft[],
  ): void {
    if (task.call_id === null || this.#open.has(task.call_id)) return;
    const tool = this.#finished.get(task.call_id);
    if (tool === undefined || task.status === 'running') return;
    const code = tool === 'Bash' ? SUMMARY_CODE.exec(task.summary) : null;
    const exit_code = code ? Number(code[1]) : null;
    let status: CallStatus | null = null;
    if (task.status === 'failed' || (exit_code !== null && exit_code !== 0)) status = 'error';
    if (task.status === 'killed' || task.status === 'stopped') status = 'cancelled';
    this.#finished.delete(task.call_id);
    if (status === null && exit_code === null) return;
    out.push({ kind: 'call_updated', at_ms, data: { call_id: task.call_id, status, exit_code } });
  }

  /** The turn's end tells refused calls from interrupted ones, which all were taken to be interrupted. */
  settle(aborted: boolean, out: Draft[]): void {
    if (this.#rejected.size === 0) return;
    for (const call_id of this.#rejected) {
      this.#denied.add(call_id);
      trim(this.#denied);
      if (aborted) continue;
      out.push({ kind: 'call_updated', data: { call_id, status: 'denied', exit_code: null } });
    }
    this.#rejected.clear();
  }

  /** The end record's list of refusals: it names those whose results did not say so. */
  refused(denials: readonly unknown[], out: Draft[]): void {
    for (const denial of denials) {
      const call_id = idOf(nativeOf(denial)?.tool_use_id);
      if (call_id === null || this.#denied.has(call_id) || this.#open.has(call_id)) continue;
      this.#denied.add(call_id);
      trim(this.#denied);
      out.push({ kind: 'call_updated', data: { call_id, status: 'denied', exit_code: null } });
    }
  }

  #decideLate(call_id: string, said: Native, at_ms: number | undefined, out: Draft[]): void {
    const accepted = said.decision === 'accept';
    if (!accepted && said.decision !== 'reject') return;
    const reason = textOf(said.reason_type) ?? textOf(said.reasonType);
    const why = { reason, source: textOf(said.source), at_ms };
    this.decide(call_id, accepted ? 'allow' : 'deny', why, out);
  }
}

/** What a sub-agent of this call begins with; null: it starts none. A skill may run in a sub-agent of its own. */
function promptOf(native_tool: string, input: Native | null): string | null {
  if (SUB_AGENTS.has(native_tool)) return textOf(input?.prompt);
  const skill = native_tool === 'Skill' ? textOf(input?.skill) : null;
  // A plugin's skill is called `<plugin>:<skill>`; its folder is not.
  return skill === null ? null : SKILL_PROMPT + skill.slice(skill.lastIndexOf(':') + 1);
}

/** The skill whose body this text is, by the name of its folder; null: it is no skill's body. */
export function skillOf(text: string): string | null {
  if (!text.startsWith(SKILL_BODY)) return null;
  const line = text.slice(SKILL_BODY.length, SKILL_BODY.length + 4096).split('\n', 1)[0] ?? '';
  return line.split(/[\\/]/).findLast((piece) => piece !== '') ?? null;
}

function statusOf(
  failed: boolean,
  text: string,
  call: Call | undefined,
  facts: ResultFacts,
): CallStatus {
  const interrupted = nativeOf(facts.detail)?.interrupted === true;
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
