/** Events → a report for CI: calls with command or path and the reason of a failure, and warnings. Pure. */
import { callText } from '../lib/call-text.ts';
import { LIMITS } from '../lib/limits.ts';
import { shortened } from '../lib/utf8.ts';
import type { DataOf, Event } from '../model/event.ts';
import { OpenCalls } from '../model/run-fold.ts';
import type { CallStatus } from '../model/words.ts';
import { PROJECTION_LIMITS } from './limits.ts';
import { shownWarning } from './warnings.ts';

/** A tool call, for people. */
export interface ReportedCall {
  /** Name of the tool. */
  tool: string;
  /** The command, the path, or the most informative field; '' if there is none. */
  about: string;
  /** How it ended. */
  status: CallStatus;
  /** Exit code of its command; null if unknown. */
  exit_code: number | null;
  /** Duration in milliseconds; null if unknown. */
  duration_ms: number | null;
  /** Why it was denied or failed; null if unknown, or when it succeeded. */
  reason: string | null;
}

export interface RunReport {
  /** The first calls of the run; `counts` has all of them. */
  calls: ReportedCall[];
  counts: ReadonlyMap<CallStatus, number>;
  /** Warnings that do not belong to a call. */
  warnings: string[];
}

/** `Bash: npm test`. */
export const callName = ({ tool, about }: ReportedCall) =>
  about === '' ? tool : `${tool}: ${about}`;

const short = (text: string) => shortened(text.trim(), PROJECTION_LIMITS.report_chars_max);

/** Lines before the output itself: the exit code, which is known, and what a package manager runs. */
const PREAMBLE = /^(?:exit code:? \d+|> .*)$/i;

/** The first line of an output that says something about the failure. */
function reasonIn(output: string): string | null {
  // Some agents wrap an error in a tag for the model.
  const text = output.replace(/^\s*<(\w+)>([\s\S]*)<\/\1>\s*$/, '$2');
  const lines = text.split('\n', 50).map((line) => line.trim());
  const filled = lines.filter((line) => line !== '');
  return filled.find((line) => !PREAMBLE.test(line)) ?? filled[0] ?? null;
}

export class RunReportFold {
  readonly #open = new OpenCalls<ReportedCall>(
    ({ data }) => this.#requested(data),
    LIMITS.open_calls_max,
  );
  readonly #calls: ReportedCall[] = [];
  /** Listed calls that have ended, for late updates. */
  readonly #ended = new Map<string, ReportedCall>();
  readonly #counts = new Map<CallStatus, number>();
  readonly #warnings: string[] = [];
  #cwd: string | null = null;

  push(events: readonly Event[]): void {
    for (const event of events) this.#push(event);
  }

  #push(event: Event): void {
    const call = this.#open.push(event);
    switch (event.kind) {
      case 'run_started':
      case 'session_started':
        this.#cwd = event.data.cwd ?? this.#cwd;
        return;
      case 'call_decided':
        if (event.data.decision === 'deny') this.#refused(call, event.data.reason);
        return;
      case 'permission_answered':
        if (event.data.decision === 'deny') this.#refused(call, null);
        return;
      case 'call_finished':
        this.#finished(call ?? this.#made(event.data.tool, ''), event.data);
        return;
      case 'call_updated':
        this.#updated(event.data);
        return;
      // The warning is about a listed call.
      case 'permission_asked':
        return;
    }
    const text = shownWarning(event);
    if (text !== null && this.#warnings.length < PROJECTION_LIMITS.outcome_warnings_max)
      this.#warnings.push(short(text));
  }

  /** Calls without an end count as cancelled. */
  finish(): RunReport {
    const counts = new Map(this.#counts);
    for (const call of this.#open.values()) {
      if (call.status !== 'unknown') continue;
      call.status = 'cancelled';
      add(counts, call.status, 1);
    }
    return { calls: this.#calls, counts, warnings: this.#warnings };
  }

  #requested({ tool, input }: DataOf<'call_requested'>): ReportedCall {
    return this.#made(tool, callText(input, this.#cwd, tool));
  }

  #made(tool: string, about: string): ReportedCall {
    const call: ReportedCall = {
      tool: short(tool),
      about: short(about.replace(/\s+/g, ' ')),
      status: 'unknown',
      exit_code: null,
      duration_ms: null,
      reason: null,
    };
    if (this.#calls.length < PROJECTION_LIMITS.report_calls_max) this.#calls.push(call);
    return call;
  }

  #refused(call: ReportedCall | undefined, reason: string | null): void {
    if (call !== undefined) call.reason = reason === null ? call.reason : short(reason);
  }

  #finished(call: ReportedCall, data: DataOf<'call_finished'>): void {
    const { status, exit_code, duration_ms, output } = data;
    const why = status === 'ok' || status === 'unknown' ? null : reasonIn(output ?? '');
    call.reason = call.reason ?? (why === null ? null : short(why));
    call.status = status;
    call.exit_code = exit_code;
    call.duration_ms = duration_ms;
    add(this.#counts, status, 1);
    if (this.#ended.size < PROJECTION_LIMITS.report_calls_max) this.#ended.set(data.call_id, call);
  }

  #updated({ call_id, status, exit_code }: DataOf<'call_updated'>): void {
    const call = this.#ended.get(call_id) ?? this.#open.get(call_id);
    if (call !== undefined) call.exit_code = exit_code ?? call.exit_code;
    if (status === null || this.#open.has(call_id)) return;
    if (call !== undefined) {
      add(this.#counts, call.status, -1);
      call.status = status;
    }
    add(this.#counts, status, 1);
  }
}

function add(counts: Map<CallStatus, number>, status: CallStatus, more: number): void {
  counts.set(status, (counts.get(status) ?? 0) + more);
}
