/**
 * Canonical events → text for people, as the run goes on.
 * Contract: the returned texts, printed one after another, are the whole output; no foreign control character is in them.
 */
import { callText } from '../lib/call-text.ts';
import { durationText } from '../lib/figures.ts';
import { LIMITS } from '../lib/limits.ts';
import { forTerminal } from '../lib/terminal-text.ts';
import { headCopy } from '../lib/utf8.ts';
import type { DataOf, Event, EventOf } from '../model/event.ts';
import { createArtifactFold } from './artifacts.ts';
import {
  DIFF_CHARS_MAX,
  diffLines,
  editDiff,
  ellipsisOf,
  type HumanStyle,
  headLines,
  lineOf,
  markOf,
  summaryText,
} from './human-parts.ts';
import { createTextStream } from './live/text-stream.ts';
import { warningOf } from './warnings.ts';

export type { Colours, HumanStyle } from './human-parts.ts';
export { summaryText } from './human-parts.ts';

export interface HumanOptions extends HumanStyle {
  /** Text as it comes, instead of whole messages. */
  stream: boolean;
  /** Paths inside it are shown relative to it. */
  cwd: string | null;
}

export interface HumanProjection {
  /** The text to print for an event; '' where there is nothing to say. */
  project(event: Event): string;
}

const OUTPUT_LINES_MAX = 6;
/** Silence shorter than this needs no word. */
const ANNOUNCED_FROM_MS = 5000;
const SUB_AGENT_INDENT = '  ';

interface ShownCall {
  tool: string;
  about: string;
  indent: string;
  diff: string;
  /** Why it was refused. */
  reason: string | null;
  /** Whether a line said that it runs. */
  announced: boolean;
}

export function createHumanProjection(options: HumanOptions): HumanProjection {
  const human = new Human(options);
  return { project: (event) => human.project(event) };
}

class Human {
  readonly #options: HumanOptions;
  readonly #open = new Map<string, ShownCall>();
  readonly #artifacts = createArtifactFold();
  readonly #stream = createTextStream();
  #warnings = 0;
  #lastText = '';

  constructor(options: HumanOptions) {
    this.#options = options;
    this.#artifacts.base(options.cwd);
  }

  project(event: Event): string {
    if (event.kind === 'message_delta') {
      const { text, message_id, parent_call_id } = event.data;
      if (!this.#options.stream || parent_call_id !== null) return '';
      return this.#stream.push(text, message_id);
    }
    if (event.kind === 'message_finished' && event.data.parent_call_id === null) {
      return this.#message(event.data);
    }
    const text = this.#textOf(event);
    // Streamed text may have left the cursor in the middle of a line.
    return text === '' ? '' : this.#stream.endLine() + text;
  }

  #textOf(event: Event): string {
    const { colour } = this.#options;
    switch (event.kind) {
      case 'run_started':
        return this.#heading(event.data);
      case 'step_started':
        return `${colour.dim(`step ${event.data.step_index}`)}\n`;
      case 'message_finished':
        return this.#subMessage(event.data);
      case 'thinking_finished':
        return this.#thinking(event.data);
      case 'call_requested':
        this.#request(event.data);
        return '';
      case 'call_decided':
        this.#decide(event.data);
        return '';
      case 'call_progress':
        return this.#progress(event.data);
      case 'call_finished':
        return this.#result(event.data);
      case 'file_changed':
        return this.#file(event.data);
      case 'skill_used':
        return `${colour.cyan(`skill ${this.#line(event.data.skill, 6)}`)}\n`;
      case 'notice':
        return this.#notice(event.data);
      case 'run_finished':
        return this.#summary(event);
      default:
        return this.#warning(event);
    }
  }

  #notice({ text, lines }: DataOf<'notice'>): string {
    const { colour } = this.#options;
    if (text === null) return '';
    const each = lines === undefined ? [text] : text.split('\n');
    return each.map((line) => `${colour.dim(this.#line(line, 0))}\n`).join('');
  }

  #line(text: string, indent: number): string {
    return lineOf(text, indent, this.#options);
  }

  #heading(data: DataOf<'run_started'>): string {
    const { colour } = this.#options;
    const facts = [data.agent_version, data.model, data.cwd].filter((fact) => fact !== null);
    const room = data.agent.length + 1;
    const rest = facts.length === 0 ? '' : ` ${colour.dim(this.#line(facts.join(' '), room))}`;
    this.#artifacts.base(data.cwd);
    return `${colour.bold(this.#line(data.agent, 0))}${rest}\n`;
  }

  #message(data: DataOf<'message_finished'>): string {
    if (data.role !== 'assistant') return '';
    this.#lastText = data.text.trim();
    const streamed = this.#stream.finishMessage(data.message_id, data.text);
    if (streamed !== null) return `${streamed}\n`;
    const text = forTerminal(this.#lastText);
    return text === '' ? '' : `${this.#stream.endLine()}\n${text}\n\n`;
  }

  #subMessage(data: DataOf<'message_finished'>): string {
    if (data.role !== 'assistant' || data.text.trim() === '') return '';
    return `${SUB_AGENT_INDENT}${this.#options.colour.dim(this.#line(data.text, 2))}\n`;
  }

  #thinking(data: DataOf<'thinking_finished'>): string {
    if (data.text.trim() === '') return '';
    const indent = data.parent_call_id === null ? '' : SUB_AGENT_INDENT;
    return `${indent}${this.#options.colour.dim(`thinking: ${this.#line(data.text, 12)}`)}\n`;
  }

  #request(data: DataOf<'call_requested'>): void {
    if (this.#open.size >= LIMITS.open_calls_max) return;
    this.#open.set(data.call_id, {
      tool: headCopy(data.tool, LIMITS.name_chars_max),
      about: callText(data.input, this.#options.cwd),
      indent: data.parent_call_id === null ? '' : SUB_AGENT_INDENT,
      diff: data.tool === 'Edit' ? editDiff(data.input) : '',
      reason: null,
      announced: false,
    });
  }

  #decide(data: DataOf<'call_decided'>): void {
    const call = this.#open.get(data.call_id);
    if (call !== undefined && data.decision === 'deny')
      call.reason = data.reason && headCopy(data.reason, LIMITS.name_chars_max);
  }

  /** A long call is announced once, so that silence is not taken for a hang. */
  #progress(data: DataOf<'call_progress'>): string {
    const call = this.#open.get(data.call_id);
    if (call === undefined || call.announced) return '';
    if ((data.elapsed_ms ?? 0) < ANNOUNCED_FROM_MS) return '';
    call.announced = true;
    const about = this.#line(`${call.tool} ${call.about}`, 12);
    return `${call.indent}${this.#options.colour.dim(`${ellipsisOf(this.#options)} ${about}`)}\n`;
  }

  #result(data: DataOf<'call_finished'>): string {
    const { colour } = this.#options;
    const call = this.#open.get(data.call_id);
    this.#open.delete(data.call_id);
    const indent = call?.indent ?? '';
    const tool = this.#line(data.tool, 0);
    const notes = resultNotes(data, call?.reason ?? null).map((note) => this.#line(note, 0));
    const tail = notes.length === 0 ? '' : `(${notes.join(', ')})`;
    const room = indent.length + tool.length + tail.length + 4;
    const about = call === undefined || call.about === '' ? '' : ` ${this.#line(call.about, room)}`;
    const head = `${indent}${markOf(data.status, this.#options)} ${colour.bold(tool)}${about}`;
    const line = tail === '' ? `${head}\n` : `${head} ${colour.dim(tail)}\n`;
    return line + this.#details(data, call?.diff ?? '', `${indent}  `);
  }

  #details(data: DataOf<'call_finished'>, diff: string, indent: string): string {
    const { colour } = this.#options;
    if (data.status === 'ok') return this.#diff(diff, indent);
    if (data.status !== 'error' && data.status !== 'timeout') return '';
    const { lines, more } = headLines(data.output ?? '', OUTPUT_LINES_MAX);
    const shown = lines.map((line) => this.#line(line, indent.length));
    if (more > 0) shown.push(`${ellipsisOf(this.#options)} ${more} more`);
    return shown.map((line) => `${indent}${colour.dim(line)}\n`).join('');
  }

  #diff(diff: string, indent: string): string {
    const lines = diff === '' ? [] : diffLines(diff, this.#options);
    return lines.map((line) => `${indent}${line}\n`).join('');
  }

  #file(data: DataOf<'file_changed'>): string {
    this.#artifacts.push(data);
    if (data.diff === null || data.source === 'git') return '';
    const call = data.call_id === null ? undefined : this.#open.get(data.call_id);
    if (call === undefined) return data.call_id === null ? this.#diff(data.diff, '  ') : '';
    // Shown below the call's line, in place of what the input alone would show.
    call.diff = headCopy(data.diff, DIFF_CHARS_MAX);
    return '';
  }

  #warning(event: Event): string {
    const text = warningOf(event);
    if (text === null) return '';
    this.#warnings += 1;
    if (this.#warnings > LIMITS.outcome_warnings_max) return '';
    const paint = this.#options.colour[event.kind === 'provider_failed' ? 'red' : 'yellow'];
    return `${paint(`! ${this.#line(text, 2)}`)}\n`;
  }

  #summary({ data }: EventOf<'run_finished'>): string {
    const { colour } = this.#options;
    const final = data.final_output.trim();
    // The last message has been printed already; only a final text that no message showed is printed here.
    const text = final === '' || final === this.#lastText ? '' : `\n${forTerminal(final)}\n\n`;
    const hidden = this.#warnings - LIMITS.outcome_warnings_max;
    const more = hidden > 0 ? `${colour.yellow(`! ${hidden} more warnings not shown`)}\n` : '';
    return `${text}${more}${summaryText(data, this.#artifacts.list(), this.#options)}`;
  }
}

function resultNotes(data: DataOf<'call_finished'>, reason: string | null): string[] {
  const notes: string[] = [];
  if (data.exit_code !== null && data.exit_code !== 0) notes.push(`exit ${data.exit_code}`);
  else if (data.status !== 'ok' && data.status !== 'error') notes.push(data.status);
  if (reason !== null) notes.push(reason);
  if (data.duration_ms !== null) notes.push(durationText(data.duration_ms));
  return notes;
}
