/**
 * A transcript as text for people, message by message. Folded: long texts, inputs and outputs are cut, with a word how
 * much is left. Contract: no foreign control character is in it.
 */
import { callText } from '../lib/call-text.ts';
import { costText, countText, durationText, plural } from '../lib/figures.ts';
import { isoText } from '../lib/iso-time.ts';
import { forTerminal, oneLine } from '../lib/terminal-text.ts';
import { tokensUsed } from '../model/run-fold.ts';
import type { TranscriptCall, TranscriptMessage } from '../model/transcript.ts';
import { diffLines, editDiff, ellipsisOf, type HumanStyle, markOf } from './human-parts.ts';
import type { TranscriptFacts, TranscriptView } from './transcript.ts';

export interface ShowOptions extends HumanStyle {
  full: boolean;
  thinking: boolean;
  /** Only calls of this tool, by its canonical or native name; null: everything. */
  tool: string | null;
}

/** Lines of a folded text; of an output fewer, as there are many. */
const TEXT_LINES_MAX = 40;
const OUTPUT_LINES_MAX = 8;
/** Characters of a folded line; a file of one line is long too. */
const LINE_CHARS_MAX = 500;
/** A longer text in an input is said, not shown. */
const FIELD_CHARS_MAX = 200;
const SUB_AGENT_INDENT = '    ';

export function* transcriptText(
  view: TranscriptView,
  options: ShowOptions,
): Generator<string, void> {
  const text = new Text(view.facts, options);
  yield text.head();
  let shown = 0;
  for (let index = 0; index < view.count; index++) {
    const part = text.message(view.at(index));
    if (part !== '') shown += 1;
    yield part;
  }
  if (options.tool !== null && shown === 0)
    yield `\nNo calls of ${oneLine(options.tool, options.width)}.\n`;
  yield text.end();
}

class Text {
  readonly #facts: TranscriptFacts;
  readonly #options: ShowOptions;

  constructor(facts: TranscriptFacts, options: ShowOptions) {
    this.#facts = facts;
    this.#options = options;
  }

  head(): string {
    const { run_id, agent, agent_version, model, start_time_ms } = this.#facts;
    const when = isoText(start_time_ms)?.slice(0, 16);
    const named = [`${agent} ${agent_version ?? ''}`.trim(), model, when];
    const rest = named.filter((word) => word).join(this.#dot());
    return `${this.#options.colour.bold(this.#line(run_id))}${this.#dot()}${this.#line(rest)}\n`;
  }

  message(message: TranscriptMessage): string {
    const { tool, thinking, colour } = this.#options;
    const indent = message.parent_tool_call_id === null ? '' : SUB_AGENT_INDENT;
    const calls = message.tool_calls.filter(
      (call) => tool === null || call.name === tool || call.native_name === tool,
    );
    if (tool !== null && calls.length === 0) return '';
    const lines: string[] = ['', colour.cyan(this.#title(message))];
    if (tool === null) {
      if (message.thinking !== null) lines.push(...this.#thoughts(message.thinking, thinking));
      if (message.content !== '') lines.push(...this.#folded(message.content, TEXT_LINES_MAX));
    }
    for (const call of calls) lines.push(...this.#call(call));
    return lines.map((line) => (line === '' ? '\n' : `${indent}${line}\n`)).join('');
  }

  end(): string {
    const facts = this.#facts;
    const { token_usage: usage, completeness, cost_usd, duration_ms } = facts;
    const tokens = tokensUsed(usage);
    const words = [
      this.#options.colour.bold(facts.exit_reason),
      plural(facts.steps, 'step'),
      plural(facts.tool_calls_count, 'call'),
      tokens === null ? 'tokens unknown' : `${countText(tokens)} tokens`,
      cost_usd === null ? 'cost unknown' : costText(cost_usd),
      duration_ms === null ? 'duration unknown' : durationText(duration_ms),
      this.#line(`record ${[completeness.grade, ...completeness.gaps].join(', ')}`),
    ];
    const mark = markOf(facts.success ? 'ok' : 'error', this.#options);
    return `\n${mark} ${words.join(this.#dot())}\n`;
  }

  #title({ role, step, parent_tool_call_id: parent }: TranscriptMessage): string {
    const words = [role, step === null ? null : `step ${step}`];
    if (parent !== null) words.push(`sub-agent of ${this.#line(parent)}`);
    return words.filter((word) => word !== null).join(this.#dot());
  }

  #thoughts(text: string, shown: boolean): string[] {
    const { dim } = this.#options.colour;
    if (!shown) return [dim(`  (thinking, ${plural(text.length, 'character')}: --thinking)`)];
    return this.#folded(text, TEXT_LINES_MAX).map((line) => dim(line));
  }

  #call(call: TranscriptCall): string[] {
    const { full, colour, width } = this.#options;
    const about = callText(call.input, this.#facts.source.cwd);
    const room = Math.max(20, width - call.name.length - 24);
    const notes = notesOf(call);
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

  /** An edit as a diff; other long fields by their size. */
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

  /** Harmless lines, two columns in; folded unless all is wanted. */
  #folded(text: string, most: number): string[] {
    if (this.#options.full) return forTerminal(text.trimEnd()).split('\n').map(inset);
    const lines = text.trimEnd().split('\n');
    const ellipsis = ellipsisOf(this.#options);
    const shown = lines.slice(0, most).map((line) => {
      const cut = line.length > LINE_CHARS_MAX;
      const more = cut ? `${ellipsis} (${line.length - LINE_CHARS_MAX} more characters)` : '';
      return inset(forTerminal(line.slice(0, LINE_CHARS_MAX)) + more);
    });
    const left = lines.length - shown.length;
    if (left <= 0) return shown;
    const size = sizeText(lines.slice(most).join('\n'));
    return [...shown, inset(`${ellipsis} ${plural(left, 'more line')}, ${size} (--full)`)];
  }

  #line(text: string): string {
    return oneLine(text, 200, ellipsisOf(this.#options));
  }

  #dot(): string {
    return this.#options.unicode ? ' · ' : ' - ';
  }
}

const inset = (line: string) => `  ${line}`;

function notesOf({ status, exit_code, duration_ms }: TranscriptCall): string {
  const notes = [
    exit_code !== null && exit_code !== 0 ? `exit ${exit_code}` : status === 'ok' ? null : status,
    duration_ms === null ? null : durationText(duration_ms),
  ];
  return notes.filter((note) => note !== null).join(', ');
}

function sizeText(text: string): string {
  return `${countText(text.length)} characters`;
}
