/**
 * Live messages → lines for people: time, session, event.
 * Contract: the lines contain no foreign control characters; memory is bounded.
 */

import { callText } from '../../lib/call-text.ts';
import { callsText, costText, countText, durationText } from '../../lib/figures.ts';
import { wordOf as text } from '../../lib/foreign.ts';
import { isoTime } from '../../lib/iso-time.ts';
import { LIMITS } from '../../lib/limits.ts';
import { localClock } from '../../lib/local-time.ts';
import { own } from '../../lib/own.ts';
import { columns } from '../../lib/terminal-text.ts';
import type { CallStatus } from '../../model/words.ts';
import {
  ellipsisOf,
  flowed,
  type HumanStyle,
  headLines,
  lineOf,
  markOf,
  resultMark,
  statusNote,
  wrappedLines,
} from '../human-parts.ts';

export interface SeenMessage {
  type: string;
  timestamp: string;
  session_id?: string | null;
  data: Record<string, unknown>;
}

interface Call {
  what: string;
  at_ms: number;
}

const OUTPUT_LINES_MAX = 6;
const TEXT_LINES_MAX = 20;
/** Characters kept of an unfinished text. */
const TEXT_CHARS_MAX = 64 * 1024;
/** Columns of a session's name; a longer name shifts the rest of its line. */
const SESSION_CHARS = 10;
const TIME_CHARS = 12;
const MARK_COLUMNS = 2;
/** Remembered session names, so that two ids with the same prefix get different names. */
const NAMES_MAX = 1_000;
/** Ids made by tacho: `r_` for runs, `s_` for sessions of other programs. */
const MADE_ID = /^[rs]_[0-9a-z]{26}$/;
/** Foreign ids are shown completely up to this length. */
const FOREIGN_CHARS_MAX = 24;

const fields = (value: unknown) =>
  (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;

/** The coloured lines of a message. */
type Line = (view: LiveHuman, message: SeenMessage) => string[];

const LINES: Readonly<Record<string, Line>> = {
  session_start: (view, message) => {
    view.count(message);
    const { data } = message;
    const facts = [data.agent_version, data.model, data.cwd]
      .map(text)
      .filter((fact) => fact !== '');
    const { bold, dim } = view.style.colour;
    const rest = facts.length === 0 ? '' : ` ${dim(view.line(facts.join(' ')))}`;
    return [`${bold(view.line(text(data.agent)))}${rest}`];
  },
  session_end: (view, message) => view.end(message),
  tool_call_request: (view, message) => view.request(message),
  tool_call_confirmation: (view, message) => {
    const { what } = view.callOf(message);
    return [view.style.colour.yellow(`? ${view.line(`${what}: ${text(message.data.prompt)}`)}`)];
  },
  tool_execution_status: (view, message) => view.status(message),
  tool_call_response: (view, message) => view.response(message),
  message_start: (view, message) => view.from(message),
  content_block_start: (view, message) => view.begin(message),
  content_block_delta: (view, message) => view.piece(message),
  content_block_stop: (view, message) => view.said(message),
  message_stop: (view, message) => view.done(message),
  error: (view, { data }) => {
    const paint = view.style.colour[data.severity === 'warning' ? 'yellow' : 'red'];
    return [paint(`! ${view.line(`${text(data.error_code)}: ${text(data.message)}`)}`)];
  },
  session_state: (view, { data }) => {
    const { colour } = view.style;
    if (data.status === 'lost') return [colour.red('! the sender has disconnected')];
    const { kind, ...rest } = fields(data.news);
    return kind === undefined || QUIET_NEWS.has(text(kind))
      ? []
      : [colour.dim(view.line(`${text(kind).replaceAll('_', ' ')} ${callText(rest, null)}`))];
  },
  user_input: (view, { data }) => [view.line(`input: ${text(data.content)}`)],
  interrupt: (view, { data }) => [
    view.style.colour.yellow(`! interrupt ${view.line(text(data.reason))}`),
  ],
};

/** News that other lines show, or that is of no interest while watching. */
const QUIET_NEWS: ReadonlySet<string> = new Set(['session_started', 'usage_reported']);

export class LiveHuman {
  readonly style: HumanStyle;
  readonly #calls = new Map<string, Call>();
  readonly #texts = new Map<string, { type: string; text: string }>();
  /** Open messages of the user. */
  readonly #users = new Set<string>();
  /** Calls that did not succeed, of sessions shown from their start. */
  readonly #counts = new Map<string, { failed: number; denied: number }>();
  /** Columns before the text of the current message. */
  #head_columns = 0;
  /** Sessions by displayed name. */
  readonly #named = new Map<string, string>();

  constructor(style: HumanStyle) {
    this.style = style;
  }

  /** '' when there is nothing to show. */
  project(message: SeenMessage): string {
    const make = own(LINES, message.type);
    if (make === undefined) return '';
    const time = localClock(isoTime(message.timestamp) ?? null) ?? '?';
    const session = this.#nameOf(message.session_id ?? '').padEnd(SESSION_CHARS);
    this.#head_columns = TIME_CHARS + columns(session) + 2 + MARK_COLUMNS;
    const { dim } = this.style.colour;
    const head = dim(`${time.padEnd(TIME_CHARS)} ${session}`);
    return make(this, message)
      .map((line) => `${head} ${line}\n`)
      .join('');
  }

  /** The prefix of an id made by tacho, as other commands accept it; longer when two sessions share a prefix. */
  #nameOf(session_id: string): string {
    if (!MADE_ID.test(session_id))
      return lineOf(session_id.slice(0, FOREIGN_CHARS_MAX), 0, this.style);
    const whole = session_id.slice(2);
    for (let length = SESSION_CHARS; length < whole.length; length += 2) {
      const name = whole.slice(0, length);
      const holder = this.#named.get(name) ?? session_id;
      if (holder !== session_id) continue;
      if (this.#named.size >= NAMES_MAX) this.#named.clear();
      this.#named.set(name, session_id);
      return name;
    }
    return whole;
  }

  /** Escaped, and cut to the rest of the terminal's line. */
  line(foreign: string, used = 0): string {
    return lineOf(foreign, this.#head_columns + used, this.style);
  }

  #keyOf({ session_id, data }: SeenMessage): string {
    return JSON.stringify([session_id ?? null, data.call_id ?? [data.message_id, data.index]]);
  }

  callOf(message: SeenMessage): Call {
    const known = this.#calls.get(this.#keyOf(message));
    return known ?? { what: text(message.data.call_id), at_ms: isoTime(message.timestamp) ?? 0 };
  }

  request(message: SeenMessage): string[] {
    const { name, args } = message.data;
    const what = `${text(name)} ${callText(args, null, text(name))}`
      .slice(0, 4 * this.style.width)
      .trim();
    if (this.#calls.size < LIMITS.live_open_calls_max)
      this.#calls.set(this.#keyOf(message), { what, at_ms: isoTime(message.timestamp) ?? 0 });
    const sign = this.style.unicode ? '→' : '>';
    return [`${this.style.colour.cyan(sign)} ${this.line(what)}`];
  }

  status(message: SeenMessage): string[] {
    const { status, details, progress } = message.data;
    const { what, at_ms } = this.callOf(message);
    const { dim, yellow } = this.style.colour;
    const { decision, reason, made_by, text: said } = fields(details);
    if (status !== 'running')
      return [yellow(this.line(`${what}: ${text(status)} ${text(reason)}`.trim()))];
    if (decision !== undefined) return [];
    if (text(said) !== '') return [dim(this.line(`| ${text(said)}`))];
    const elapsed = fields(progress).elapsed_ms ?? (isoTime(message.timestamp) ?? at_ms) - at_ms;
    if (made_by !== 'tacho' || typeof elapsed !== 'number') return [];
    const ellipsis = ellipsisOf(this.style);
    return [dim(`${ellipsis} ${this.line(`${durationText(elapsed)} ${what}`)}`)];
  }

  response(message: SeenMessage): string[] {
    const { result, error, execution_time_ms } = message.data;
    const { what } = this.callOf(message);
    this.#calls.delete(this.#keyOf(message));
    const failed = error !== null && error !== undefined;
    const given = fields(failed ? error : result);
    const code = text(given.code);
    const ended = given.status === 'unknown' ? 'unknown' : 'ok';
    const status = failed ? (own(STATUSES, code) ?? 'error') : ended;
    const mark = markOf(status, this.style);
    const counts = this.#counts.get(message.session_id ?? '');
    if (counts !== undefined && status === 'denied') counts.denied += 1;
    else if (counts !== undefined && failed) counts.failed += 1;
    const notes = [
      failed ? (own(STATUSES, code) === undefined ? code : statusNote(status, this.style)) : null,
      typeof given.exit_code === 'number' && given.exit_code !== 0
        ? `exit ${given.exit_code}`
        : null,
      typeof execution_time_ms === 'number' ? durationText(execution_time_ms) : null,
    ].filter((note) => note);
    const { dim } = this.style.colour;
    const tail = notes.length === 0 ? '' : ` ${dim(`(${this.line(notes.join(', '))})`)}`;
    const first = `${mark} ${this.line(what, notes.join(', ').length + columns(mark) + 2)}${tail}`;
    if (!failed) return [first];
    const output = text(given.output) || text(given.message);
    const shown = headLines(output, OUTPUT_LINES_MAX, this.#head_columns + 2, this.style);
    return [first, ...shown.map((line) => dim(`  ${line}`))];
  }

  from({ session_id, data }: SeenMessage): string[] {
    const { id, role } = fields(data.message);
    if (role === 'user' && this.#users.size < LIMITS.live_open_texts_max)
      this.#users.add(JSON.stringify([session_id, id]));
    return [];
  }

  done({ session_id, data }: SeenMessage): string[] {
    this.#users.delete(JSON.stringify([session_id, data.message_id]));
    return [];
  }

  begin(message: SeenMessage): string[] {
    if (this.#texts.size < LIMITS.live_open_texts_max)
      this.#texts.set(this.#keyOf(message), { type: text(message.data.content_type), text: '' });
    return [];
  }

  piece(message: SeenMessage): string[] {
    const block = this.#texts.get(this.#keyOf(message));
    const { delta } = message.data;
    if (block !== undefined && block.text.length < TEXT_CHARS_MAX)
      block.text += text(delta) || text(fields(delta).text);
    return [];
  }

  said(message: SeenMessage): string[] {
    const key = this.#keyOf(message);
    const block = this.#texts.get(key);
    this.#texts.delete(key);
    const whole = text(message.data.text) || (block?.text ?? '');
    if (whole.trim() === '') return [];
    const { dim } = this.style.colour;
    if (block?.type !== 'text') return [dim(this.line(`${block?.type ?? 'text'}: ${whole}`))];
    const { session_id, data } = message;
    const by_user = this.#users.has(JSON.stringify([session_id, data.message_id]));
    const said = by_user ? `user: ${whole}` : whole;
    const shown = headLines(said, TEXT_LINES_MAX, this.#head_columns, this.style);
    return shown.map((line, at) => (at < TEXT_LINES_MAX ? line : dim(line)));
  }

  count({ session_id }: SeenMessage): void {
    if (this.#counts.size < NAMES_MAX) this.#counts.set(session_id ?? '', { failed: 0, denied: 0 });
  }

  /** The reason, which is the error of a failed run, is never cut. */
  end({ session_id, data }: SeenMessage): string[] {
    const { failed = 0, denied = 0 } = this.#counts.get(session_id ?? '') ?? {};
    this.#counts.delete(session_id ?? '');
    const { calls, tokens, cost_usd, duration_ms } = fields(data.totals);
    const used = Object.values(fields(tokens)).filter((count) => typeof count === 'number');
    const figures = [
      typeof calls === 'number' ? callsText(calls, failed, denied) : '',
      used.length > 0 ? `${countText(used.reduce((sum, count) => sum + count, 0))} tokens` : '',
      typeof cost_usd === 'number' ? costText(cost_usd) : '',
      typeof duration_ms === 'number' ? durationText(duration_ms) : '',
    ].filter((figure) => figure !== '');
    const status = text(data.status);
    const ok = /^(ok|completed?|success)$/.test(status);
    const { style } = this;
    const width = style.width - this.#head_columns + MARK_COLUMNS;
    const shown = flowed([resultMark(ok, status, style), ...figures], '  ', { ...style, width });
    const why = text(data.reason);
    const reason = why === '' ? [] : wrappedLines(why, this.#head_columns + 2, style);
    const paint = ok ? style.colour.dim : style.colour.red;
    return [...shown.trimEnd().split('\n'), ...reason.map((line) => `  ${paint(line)}`)];
  }
}

/** The status by the error code: other senders need not use our status words. */
const STATUSES: Readonly<Record<string, CallStatus>> = {
  TOOL_EXECUTION_FAILED: 'error',
  TOOL_TIMEOUT: 'timeout',
  PERMISSION_DENIED: 'denied',
  CANCELLED: 'cancelled',
};
