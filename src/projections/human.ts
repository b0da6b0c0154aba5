/**
 * Canonical events → text for people, while the agent runs.
 * Contract: the returned texts, printed in order, are the complete output and contain no foreign control characters.
 */
import { shortRunId } from '../lib/ids.ts';
import { LIMITS } from '../lib/limits.ts';
import { own } from '../lib/own.ts';
import { headCopy } from '../lib/utf8.ts';
import type { DataOf, Event, EventOf } from '../model/event.ts';
import { FinalText, OpenCalls } from '../model/run-fold.ts';
import { createArtifactFold } from './artifacts.ts';
import { CallCounts } from './call-counts.ts';
import { CallText, type ShownCall, SUB_AGENT_INDENT } from './human-calls.ts';
import {
  DIFF_CHARS_MAX,
  flowed,
  type HumanStyle,
  lineOf,
  proseOf,
  summaryText,
  wrappedLines,
} from './human-parts.ts';
import { PROJECTION_LIMITS } from './limits.ts';
import { TextStream } from './text-stream.ts';
import { shownWarning } from './warnings.ts';

export type { Colours } from './human-parts.ts';

export interface HumanOptions extends HumanStyle {
  /** Print text as it arrives, instead of complete messages. */
  stream: boolean;
  /** Paths inside it are shown relative to it. */
  cwd: string | null;
}

/** Lines of one warning, or of one line of the agent's stderr. The end of the run shows the complete error. */
const WARNING_LINES_MAX = 8;

/** Parts of the output. */
type Block = 'head' | 'step' | 'thought' | 'text' | 'line' | 'end';

/** The parts that begin with a blank line after another part; not after a heading. */
const BLANK_BEFORE: Readonly<Record<Block, readonly (Block | null)[]>> = {
  head: [],
  step: ['head', 'step', 'thought', 'text', 'line'],
  thought: ['head'],
  text: ['head', 'text', 'line'],
  line: ['head'],
  end: ['head', 'step', 'thought', 'text', 'line'],
};

const BLOCKS: Partial<Record<Event['kind'], Block>> = {
  run_started: 'head',
  step_started: 'step',
  thinking_finished: 'thought',
  run_finished: 'end',
};

export class HumanProjection {
  readonly #options: HumanOptions;
  readonly #call: CallText;
  readonly #calls = new OpenCalls<ShownCall>(
    ({ data }) => this.#call.shown(data),
    LIMITS.open_calls_max,
  );
  readonly #artifacts = createArtifactFold();
  readonly #stream = new TextStream();
  /** The final output, as far as messages showed it. */
  readonly #text = new FinalText(LIMITS.final_output_chars_max);
  readonly #counts = new CallCounts();
  #warnings = 0;
  #computed_usd: number | null = null;
  /** The part printed last. */
  #last: Block | null = null;

  constructor(options: HumanOptions) {
    this.#options = options;
    this.#call = new CallText(options);
    this.#artifacts.base(options.cwd);
  }

  /** The text to print for an event; '' if there is none. `computed_usd`: the cost of a run of which the agent reports none. */
  project(event: Event, computed_usd: number | null = null): string {
    this.#computed_usd = computed_usd;
    this.#text.push(event);
    this.#counts.push(event);
    if (event.kind === 'message_delta') {
      const shown = this.#options.stream && event.data.parent_call_id === null;
      return shown ? this.#piece(event.data) : '';
    }
    if (event.kind === 'message_finished' && event.data.parent_call_id === null) {
      return this.#message(event.data);
    }
    const text = this.#textOf(event);
    // Streamed text may have left the cursor in the middle of a line.
    return text === '' ? '' : this.#stream.endLine() + this.#begin(own(BLOCKS, event.kind)) + text;
  }

  /** A blank line if the part needs one. */
  #begin(block: Block = 'line'): string {
    const blank = BLANK_BEFORE[block].includes(this.#last);
    this.#last = block;
    return blank ? '\n' : '';
  }

  #textOf(event: Event): string {
    const { colour } = this.#options;
    const call = this.#calls.push(event);
    switch (event.kind) {
      case 'run_started':
        return this.#heading(event);
      case 'step_started':
        return `${colour.dim(`step ${event.data.step_index}`)}\n`;
      case 'message_finished':
        return this.#subMessage(event.data);
      case 'thinking_finished':
        return this.#thinking(event.data);
      case 'call_decided':
        if (call !== undefined && event.data.decision === 'deny')
          call.reason = event.data.reason && headCopy(event.data.reason, LIMITS.name_chars_max);
        return '';
      case 'call_progress':
        return this.#call.progress(call, event.data);
      case 'call_finished':
        return this.#call.result(call, event.data);
      case 'file_changed':
        return this.#file(call, event.data);
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
    const { dim } = this.#options.colour;
    if (text === null) return '';
    const each = lines === undefined ? [text] : text.split('\n');
    const shown = each.flatMap((line) => wrappedLines(line, 0, this.#options, WARNING_LINES_MAX));
    return shown.map((line) => `${dim(line)}\n`).join('');
  }

  #line(text: string, indent: number): string {
    return lineOf(text, indent, this.#options);
  }

  #heading({ run_id, data }: EventOf<'run_started'>): string {
    const { colour } = this.#options;
    const { agent, agent_version, model, cwd } = data;
    const facts = [model, cwd].filter((fact) => fact !== null && fact !== '') as string[];
    this.#artifacts.base(cwd);
    const parts = [
      `run ${shortRunId(run_id)}`,
      colour.bold(this.#line(`${agent} ${agent_version ?? ''}`, 0)),
      ...facts.map((fact) => colour.dim(this.#line(fact, 2))),
    ];
    return flowed(parts, '  ', this.#options);
  }

  #piece(data: DataOf<'message_delta'>): string {
    const begins = (fresh: boolean) => (fresh || this.#last !== 'text' ? this.#begin('text') : '');
    return this.#stream.push(data, begins);
  }

  #message(data: DataOf<'message_finished'>): string {
    if (data.role !== 'assistant') return '';
    const streamed = this.#stream.finishMessage(data);
    if (streamed !== null) return streamed;
    const text = proseOf(data.text.trim(), this.#options);
    return text === '' ? '' : `${this.#stream.endLine()}${this.#begin('text')}${text}\n`;
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

  #file(call: ShownCall | undefined, data: DataOf<'file_changed'>): string {
    this.#artifacts.push(data);
    if (data.diff === null || data.source === 'git') return '';
    if (call === undefined) return data.call_id === null ? this.#call.diff(data.diff, '  ') : '';
    // Shown below the call's line, instead of a diff of the input.
    call.diff = headCopy(data.diff, DIFF_CHARS_MAX);
    return '';
  }

  #warning(event: Event): string {
    const text = shownWarning(event);
    if (text === null) return '';
    this.#warnings += 1;
    if (this.#warnings > PROJECTION_LIMITS.outcome_warnings_max) return '';
    const paint = this.#options.colour[event.kind === 'provider_failed' ? 'red' : 'yellow'];
    return wrappedLines(text, 2, this.#options, WARNING_LINES_MAX)
      .map((line, at) => `${paint(`${at === 0 ? '!' : ' '} ${line}`)}\n`)
      .join('');
  }

  #summary(event: EventOf<'run_finished'>): string {
    const { colour } = this.#options;
    const final = event.data.final_output.trim();
    // Messages have been printed already: only a final text that no message showed is printed here.
    const unseen = final !== '' && final !== this.#text.value;
    const text = unseen ? `${proseOf(final, this.#options)}\n\n` : '';
    const hidden = this.#warnings - PROJECTION_LIMITS.outcome_warnings_max;
    const more = hidden > 0 ? `${colour.yellow(`! ${hidden} more warnings not shown`)}\n` : '';
    const { failed, denied } = this.#counts;
    const computed_usd = this.#computed_usd;
    const facts = { failed, denied, files: this.#artifacts.list(), computed_usd };
    return `${text}${more}${summaryText(event, facts, this.#options)}`;
  }
}
