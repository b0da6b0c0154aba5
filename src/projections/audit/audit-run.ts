/**
 * Events of one run → findings. Contract: pure. Commands are parsed, never searched as text; outputs are not read. A
 * part that cannot be parsed is returned as not analysed.
 */
import { callText } from '../../lib/call-text.ts';
import { LIMITS } from '../../lib/limits.ts';
import { readShell } from '../../lib/shell-commands.ts';
import type { ShellCommand } from '../../lib/shell-inner.ts';
import { headCopy } from '../../lib/utf8.ts';
import type { AuditFinding, AuditUnread } from '../../model/audit.ts';
import type { DataOf, Event, EventOf } from '../../model/event.ts';
import { OpenCalls, RunFold } from '../../model/run-fold.ts';
import { AUDIT_SCHEMA, type AuditStatus, type CallStatus } from '../../model/words.ts';
import { PROJECTION_LIMITS } from '../limits.ts';
import { knownTime } from '../outcome.ts';
import { approvedBy, type Decided } from './approval.ts';
import { Denials, type DeniedCall } from './denials.ts';
import { type Access, inputAccess, type Places, placed, placesOf, shellAccesses } from './paths.ts';
import type { Met, RuleSet } from './rule-set.ts';

/** The result of one run. */
export interface RunAudit {
  findings: AuditFinding[];
  unread: AuditUnread[];
  calls: number;
  /** Calls with an input. */
  inputs: number;
  unknown_paths: number;
  /** By decision and source: the number of calls. */
  decisions: Map<string, { decision: 'allow' | 'deny'; by: string | null; calls: number }>;
}

interface OpenCall {
  seq: number;
  at_ms: number;
  data: DataOf<'call_requested'>;
  decided: Decided | null;
  /** Files that the agent reports as changed by the call. */
  changed: string[];
}

interface EndedCall {
  call: OpenCall;
  status: CallStatus;
}

const STATUSES: Readonly<Record<CallStatus, AuditStatus>> = {
  ok: 'ran',
  error: 'failed',
  timeout: 'failed',
  denied: 'denied',
  cancelled: 'unknown',
  unknown: 'unknown',
};

/** Native names of tools that run PowerShell. */
const POWERSHELL = /powershell|pwsh/i;

export class RunAuditFold {
  readonly audit: RunAudit = {
    ...{ findings: [], unread: [], calls: 0, inputs: 0, unknown_paths: 0 },
    decisions: new Map(),
  };
  readonly run = new RunFold();
  readonly #rules: RuleSet;
  readonly #open = new OpenCalls<OpenCall>(
    ({ seq, at_ms, data }) => ({ seq, at_ms, data, decided: null, changed: [] }),
    LIMITS.open_calls_max,
  );
  /** The last calls that ended: the files that they changed, and late facts, follow their end. */
  readonly #ended = new Map<string, EndedCall>();
  readonly #denials = new Denials();
  #run_id = '';
  #mode: string | null = null;
  #places: Places = placesOf(null, null);

  constructor(rules: RuleSet) {
    this.#rules = rules;
  }

  push(event: Event): void {
    this.run.push(event);
    if (this.#run_id === '') this.#run_id = event.run_id;
    if (event.kind === 'session_started' || event.kind === 'run_started') {
      const project = this.run.started?.data.project?.path ?? null;
      this.#places = placesOf(this.run.names.cwd, project);
      if (event.kind === 'session_started') this.#mode = event.data.permission_mode ?? this.#mode;
    }
    const open = this.#open.push(event);
    const { call_id = null } = event.data as { call_id?: string | null };
    const ended = call_id === null ? undefined : this.#ended.get(call_id);
    const call = open ?? ended?.call;
    if (event.kind === 'call_decided' || event.kind === 'permission_answered')
      this.#decided(event, call);
    else if (event.kind === 'file_changed' && event.data.source === 'tool')
      call?.changed.push(event.data.path);
    else if (event.kind === 'call_updated' && ended !== undefined)
      ended.status = event.data.status ?? ended.status;
    else if (event.kind === 'call_finished' && open !== undefined)
      this.#end(open, event.data.status);
  }

  #end(call: OpenCall, status: CallStatus): void {
    this.#ended.set(call.data.call_id, { call, status });
    if (this.#ended.size <= PROJECTION_LIMITS.audit_ended_calls) return;
    const [oldest] = this.#ended.values();
    if (oldest !== undefined) this.#takeEnded(oldest);
  }

  #takeEnded({ call, status }: EndedCall): void {
    this.#ended.delete(call.data.call_id);
    this.#take(call, status);
  }

  /** Takes the calls without an end. */
  finish(): RunAudit {
    for (const one of [...this.#ended.values()]) this.#takeEnded(one);
    for (const call of this.#open.values()) this.#take(call, 'unknown');
    this.#open.clear();
    return this.audit;
  }

  #decided(event: EventOf<'call_decided' | 'permission_answered'>, call: OpenCall | undefined) {
    const { decision, source } = event.data;
    if (decision === 'require_approval') return;
    if (call !== undefined) call.decided = { decision, source };
  }

  #take(call: OpenCall, given: CallStatus): void {
    const { data, decided } = call;
    const { tool, input } = data;
    // Some agents report a denial as an error of the call.
    const status = decided?.decision === 'deny' ? 'denied' : STATUSES[given];
    this.audit.calls += 1;
    if (hasInput(input)) this.audit.inputs += 1;
    const approved_by =
      status === 'denied' ? null : approvedBy(tool, decided, this.run.started?.data, this.#mode);
    this.#count(status === 'denied' ? 'deny' : 'allow', decided?.source ?? approved_by);
    const commands = this.#commandsOf(call);
    const shell = shellAccesses(commands, this.#placesOf(input));
    this.audit.unknown_paths += shell.unknown;
    const changed = call.changed.map(
      (path): Access => ({ path: placed(path, this.#places), how: 'write' }),
    );
    const accesses = unique([
      ...shell.accesses,
      ...inputAccess(tool, input, this.#places),
      ...changed,
    ]);
    const about = callText(input, this.run.names.cwd, tool);
    const met = [
      ...this.#rules.tool(tool, about),
      ...commands.flatMap((command) => this.#rules.command(command)),
      ...accesses.flatMap((access) => this.#rules.path(access, this.#places)),
    ];
    for (const one of met) this.#found(call, one, { status, approved_by });
    const denied = { seq: call.seq, tool, input, about, commands, accesses };
    if (status === 'denied') this.#deniedCall(call, denied);
    else if (status === 'ran' || status === 'failed')
      this.#doneCall(call, denied, { status, approved_by });
  }

  #deniedCall(call: OpenCall, denied: DeniedCall): void {
    this.#denials.add(denied);
    const rule = this.#rules.special('denied');
    const detail = call.decided?.source == null ? null : `denied by ${call.decided.source}`;
    if (rule !== null)
      this.#found(
        call,
        { rule, subject: denied.about },
        { status: 'denied', approved_by: null, detail },
      );
  }

  #doneCall(call: OpenCall, done: DeniedCall, facts: Facts): void {
    const rule = this.#rules.special('denied-then-done');
    const before = rule === null ? null : this.#denials.match(done);
    if (rule === null || before === null) return;
    const detail = `${before.why} as the call that was denied at event ${before.seq}`;
    this.#found(call, { rule, subject: done.about }, { ...facts, detail, denied_seq: before.seq });
  }

  /** Relative paths of a call begin in its own folder, if it has one. */
  #placesOf(input: unknown): Places {
    const { workdir, cwd } = (input ?? {}) as { workdir?: unknown; cwd?: unknown };
    const own = [workdir, cwd].find((path) => typeof path === 'string' && path !== '');
    if (own === undefined) return this.#places;
    const { bases, home } = this.#places;
    return { bases: [placed(own as string, this.#places), ...bases], home };
  }

  #commandsOf(call: OpenCall): ShellCommand[] {
    const { tool, native_tool, input } = call.data;
    const { command } = (input ?? {}) as { command?: unknown };
    const text = Array.isArray(command) ? command.map(String).join(' ') : command;
    if (typeof text !== 'string') {
      if (tool === 'Bash' && hasInput(input)) this.#unread(call, '', 'the input has no command');
      return [];
    }
    const language = POWERSHELL.test(native_tool) ? 'powershell' : 'sh';
    const { commands, unread } = readShell(text, language);
    for (const { text, why } of unread) this.#unread(call, text, why);
    return commands;
  }

  #count(decision: 'allow' | 'deny', by: string | null): void {
    const key = `${decision} ${by}`;
    const counted = this.audit.decisions.get(key) ?? { decision, by, calls: 0 };
    counted.calls += 1;
    this.audit.decisions.set(key, counted);
  }

  #place({ seq, at_ms, data }: OpenCall) {
    const { started, names } = this.run;
    const known = knownTime(at_ms);
    return {
      run_id: this.#run_id,
      agent: started?.data.agent ?? '',
      session_id: names.session_id,
      project: started?.data.project?.path ?? names.cwd,
      at_ms: known,
      time: known === null ? null : new Date(known).toISOString(),
      ...{ seq, call_id: data.call_id, tool: data.tool },
    };
  }

  #unread(call: OpenCall, text: string, why: string): void {
    const subject = short(text === '' ? callText(call.data.input, null) : text);
    this.audit.unread.push({
      ...{ schema_version: AUDIT_SCHEMA, kind: 'not_analysed', ...this.#place(call), subject, why },
    });
  }

  #found(call: OpenCall, { rule, subject }: Met, facts: Facts): void {
    const { id, category, severity, about } = rule;
    this.audit.findings.push({
      ...{ schema_version: AUDIT_SCHEMA, kind: 'finding', rule: id, category, severity, about },
      ...this.#place(call),
      ...{ subject: short(subject), denied_seq: null, detail: null, ...facts },
    });
  }
}

type Facts = Pick<AuditFinding, 'status' | 'approved_by'> &
  Partial<Pick<AuditFinding, 'detail' | 'denied_seq'>>;

const short = (text: string) => headCopy(text, PROJECTION_LIMITS.audit_subject_chars);

const hasInput = (input: unknown) =>
  input !== null &&
  input !== undefined &&
  !(typeof input === 'object' && Object.keys(input).length === 0);

/** The strongest access to each file. */
function unique(accesses: readonly Access[]): Access[] {
  const rank = { read: 0, write: 1, replace: 2 };
  const found = new Map<string, Access>();
  for (const access of accesses) {
    const known = found.get(access.path);
    if (known === undefined || rank[known.how] < rank[access.how]) found.set(access.path, access);
  }
  return [...found.values()];
}
