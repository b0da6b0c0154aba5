/**
 * A transcript as text for people. Long texts, inputs and outputs are folded, with the size of the rest.
 * Contract: the text contains no foreign control characters.
 */
import { callText } from '../lib/call-text.ts';
import { callsText, countText, durationText, plural } from '../lib/figures.ts';
import { LIMITS } from '../lib/limits.ts';
import { forTerminal, oneLine, wrapLines } from '../lib/terminal-text.ts';
import type { TranscriptCall, TranscriptMessage } from '../model/transcript.ts';
import type { UnfinishedState } from '../model/unfinished.ts';
import {
  diffLines,
  dotOf,
  editDiff,
  ellipsisOf,
  flowed,
  type HumanStyle,
  markOf,
  resultMark,
  statusNote,
} from './human-parts.ts';
import { headText } from './outcome-text.ts';
import type { RunHead } from './run-head.ts';
import type { TranscriptFacts, TranscriptView } from './transcript.ts';

export interface ShowOptions extends HumanStyle {
  full: boolean;
  thinking: boolean;
  /** Only calls of this tool, by canonical or native name; null for everything. */
  tool: string | null;
  /** Index of the first message. */
  from: number;
  /** The state of a run that may not be finished. */
  unfinished?: UnfinishedState | null;
}

/** Lines of a folded text; fewer for outputs, because there are many. */
const TEXT_LINES_MAX = 40;
const OUTPUT_LINES_MAX = 8;
/** Characters of a folded line: a file may consist of one long line. */
const LINE_CHARS_MAX = 500;
/** Only the size of a longer text in an input is shown. */
const FIELD_CHARS_MAX = 200;
/** Columns before a line of output in a sub-agent's call. */
const INSET_COLUMNS = 10;
/** Characters of the name of a sub-agent's task. */
const TASK_CHARS_MAX = 100;
const TOOLS_MAX = 20;
const SUB_AGENT_INDENT = '    ';

export function* transcriptText(
  view: TranscriptView,
  head: RunHead,
  options: ShowOptions,
): Generator<string, void> {
  const text = new Text(view.facts, options);
  yield headText(head, options, { prompt: false, unfinished: options.unfinished ?? null });
  if (options.from > 0)
    yield `\n${options.colour.dim(`(${plural(options.from, 'earlier message')} not shown)`)}\n`;
  let shown = 0;
  for (let index = 0; index < view.count; index++) {
    const part = text.message(view.at(index));
    if (index < options.from) continue;
    if (part !== '') shown += 1;
    yield part;
  }
  if (options.tool !== null && shown === 0)
    yield `\nNo calls of ${oneLine(options.tool, options.width)}.${text.tools()}\n`;
  const { exit_reason, success, steps, calls, failed, denied } = head;
  const words = [resultMark(success, exit_reason, options), plural(steps, 'step')];
  yield `\n${flowed([...words, callsText(calls, failed, denied)], '  ', options)}`;
}

class Text {
  readonly #facts: TranscriptFacts;
  readonly #options: ShowOptions;
  /** Titles for the messages below a call. */
  readonly #titles = new Map<string, string>();
  readonly #tools = new Set<string>();

  constructor(facts: TranscriptFacts, options: ShowOptions) {
    this.#facts = facts;
    this.#options = options;
  }

  message(message: TranscriptMessage): string {
    const { tool, thinking, colour } = this.#options;
    const indent = message.parent_tool_call_id === null ? '' : SUB_AGENT_INDENT;
    const calls = message.tool_calls.filter(
      (call) => tool === null || isTool(tool, call.name) || isTool(tool, call.native_name),
    );
    if (tool !== null && calls.length === 0) {
      this.#note(message);
      return '';
    }
    const lines: string[] = ['', colour.cyan(this.#title(message))];
    if (tool === null) {
      if (message.thinking !== null) lines.push(...this.#thoughts(message.thinking, thinking));
      if (message.content !== '') lines.push(...this.#folded(message.content, TEXT_LINES_MAX));
    }
    for (const call of calls) lines.push(...this.#call(call));
    this.#note(message);
    return lines.map((line) => (line === '' ? '\n' : `${indent}${line}\n`)).join('');
  }

  /** The tools that were called so far. */
  tools(): string {
    const names = [...this.#tools].map((name) => this.#line(name));
    return names.length === 0 ? '' : ` Tools of this run: ${names.join(', ')}.`;
  }

  #note({ tool_calls }: TranscriptMessage): void {
    for (const { id, name, input } of tool_calls) {
      if (this.#tools.size < TOOLS_MAX) this.#tools.add(name);
      this.#titles.set(id, name === 'Task' ? taskTitle(input) : `called by ${name}`);
      const [oldest] = this.#titles.keys();
      if (this.#titles.size > LIMITS.open_calls_max) this.#titles.delete(oldest as string);
    }
  }

  /** Steps are shown only for the root agent: those of a sub-agent are separate. */
  #title({ role, step, parent_tool_call_id: parent }: TranscriptMessage): string {
    if (parent === null) return step === null ? role : `${role}${dotOf(this.#options)}step ${step}`;
    return this.#line(this.#titles.get(parent) ?? `sub-agent of ${parent}`);
  }

  #thoughts(text: string, shown: boolean): string[] {
    const { dim } = this.#options.colour;
    if (!shown) return [dim(`  (thinking, ${plural(text.length, 'character')}: --thinking)`)];
    return this.#folded(text, TEXT_LINES_MAX).map((line) => dim(line));
  }

  #call(call: TranscriptCall): string[] {
    const { full, colour, width } = this.#options;
    const about = callText(call.input, this.#facts.source.cwd, call.name);
    const notes = notesOf(call, this.#options);
    const room = Math.max(20, width - call.name.length - notes.length - 16);
    const head = `  ${markOf(call.status, this.#options)} ${colour.bold(this.#line(call.name))} ${oneLine(about, room, ellipsisOf(this.#options))}${notes === '' ? '' : ` ${colour.dim(`(${notes})`)}`}`;
    const output = call.output === null || call.output === '' ? [] : this.#output(call.output);
    return [head, ...(full ? this.#wholeInput(call.input) : this.#inputNotes(call)), ...output];
  }

  #output(text: string): string[] {
    const { dim } = this.#options.colour;
    return this.#folded(text, OUTPUT_LINES_MAX).map((line) => dim(`    ${line}`));
  }

  #wholeInput(input: unknown): string[] {
    if (input === null) return [];
    const text = typeof input === 'string' ? input : JSON.stringify(input, null, 2);
    return this.#folded(text, TEXT_LINES_MAX).map((line) => `    ${line}`);
  }

  /** Shows an edit as a diff, and other long fields by their size. */
  #inputNotes({ input }: TranscriptCall): string[] {
    const diff = editDiff(input);
    if (diff !== '') return diffLines(diff, this.#options).map((line) => `      ${line}`);
    if (input === null || typeof input !== 'object') return [];
    return Object.entries(input)
      .filter(([, value]) => typeof value === 'string' && value.length > FIELD_CHARS_MAX)
      .map(([name, value]) => {
        const size = sizeText(value as string);
        return this.#options.colour.dim(`      ${this.#line(name)}: ${size} (--full shows it)`);
      });
  }

  /** Escaped lines with an indent of two columns; folded unless everything is requested. */
  #folded(text: string, most: number): string[] {
    if (this.#options.full) return this.#inset(forTerminal(text.trimEnd()).split('\n'));
    const lines = text.trimEnd().split('\n');
    const ellipsis = ellipsisOf(this.#options);
    const shown = lines.slice(0, most).map((line) => {
      const cut = line.length > LINE_CHARS_MAX;
      const more = cut ? `${ellipsis} (${line.length - LINE_CHARS_MAX} more characters)` : '';
      return forTerminal(line.slice(0, LINE_CHARS_MAX)) + more;
    });
    const left = lines.length - shown.length;
    if (left <= 0) return this.#inset(shown);
    const size = sizeText(lines.slice(most).join('\n'));
    return this.#inset([...shown, `${ellipsis} ${plural(left, 'more line')}, ${size} (--full)`]);
  }

  /** Wrapped on a terminal. */
  #inset(lines: readonly string[]): string[] {
    const { wrap, width } = this.#options;
    const room = Math.max(20, width - INSET_COLUMNS);
    return (wrap ? lines.flatMap((line) => wrapLines(line, room)) : lines).map(inset);
  }

  #line(text: string): string {
    return oneLine(text, 200, ellipsisOf(this.#options));
  }
}

/** The name of a task, or the beginning of its prompt. */
function taskTitle(input: unknown): string {
  const { description, prompt } = (input ?? {}) as Record<string, unknown>;
  const text = typeof description === 'string' && description !== '' ? description : prompt;
  return typeof text === 'string' ? `sub-agent: ${text.slice(0, TASK_CHARS_MAX)}` : 'sub-agent';
}

const isTool = (wanted: string, name: string) => name.toLowerCase() === wanted.toLowerCase();

const inset = (line: string) => `  ${line}`;

function notesOf({ status, exit_code, duration_ms }: TranscriptCall, style: HumanStyle): string {
  const notes = [
    exit_code !== null && exit_code !== 0 ? `exit ${exit_code}` : statusNote(status, style),
    duration_ms === null ? null : durationText(duration_ms),
  ];
  return notes.filter((note) => note !== null).join(', ');
}

function sizeText(text: string): string {
  return `${countText(text.length)} characters`;
}
