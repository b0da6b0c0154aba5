/** Calls of a run as lines for people: each when it has finished, with its diff or the reason of its failure. */
import { callText } from '../lib/call-text.ts';
import { durationText } from '../lib/figures.ts';
import { LIMITS } from '../lib/limits.ts';
import { columns } from '../lib/terminal-text.ts';
import { headCopy } from '../lib/utf8.ts';
import type { DataOf } from '../model/event.ts';
import {
  diffLines,
  editDiff,
  ellipsisOf,
  type HumanStyle,
  headLines,
  lineOf,
  markOf,
  statusNote,
  wrappedLines,
} from './human-parts.ts';

const OUTPUT_LINES_MAX = 6;
/** Silence shorter than this is not announced. */
const ANNOUNCED_FROM_MS = 5000;
export const SUB_AGENT_INDENT = '  ';

export interface ShownCall {
  tool: string;
  about: string;
  indent: string;
  diff: string;
  /** The reason of a refusal. */
  reason: string | null;
  /** Whether a line announced it. */
  announced: boolean;
}

export class CallText {
  readonly #style: HumanStyle;
  readonly #cwd: string | null;

  /** `cwd`: paths inside it are shown relative to it. */
  constructor({ cwd, ...style }: HumanStyle & { cwd: string | null }) {
    this.#style = style;
    this.#cwd = cwd;
  }

  shown(data: DataOf<'call_requested'>): ShownCall {
    return {
      tool: headCopy(data.tool, LIMITS.name_chars_max),
      about: callText(data.input, this.#cwd, data.tool),
      indent: data.parent_call_id === null ? '' : SUB_AGENT_INDENT,
      diff: data.tool === 'Edit' ? editDiff(data.input) : '',
      reason: null,
      announced: false,
    };
  }

  /** A long call is announced once, so that silence is not taken for a hang. */
  progress(call: ShownCall | undefined, data: DataOf<'call_progress'>): string {
    if (call === undefined || call.announced) return '';
    if ((data.elapsed_ms ?? 0) < ANNOUNCED_FROM_MS) return '';
    call.announced = true;
    const about = lineOf(`${call.tool} ${call.about}`, 12, this.#style);
    return `${call.indent}${this.#style.colour.dim(`${ellipsisOf(this.#style)} ${about}`)}\n`;
  }

  result(call: ShownCall | undefined, data: DataOf<'call_finished'>): string {
    const { colour } = this.#style;
    const { indent = '', about = '' } = call ?? {};
    const mark = `${indent}${markOf(data.status, this.#style)} `;
    const tool = lineOf(data.tool, 0, this.#style);
    const reason = call?.reason ?? null;
    // A long reason gets separate lines.
    const below = reason !== null && columns(reason) > this.#style.width / 3;
    const notes = resultNotes(data, below ? null : reason, this.#style);
    const tail =
      notes.length === 0
        ? ''
        : ` (${notes.map((note) => lineOf(note, 0, this.#style)).join(', ')})`;
    const room = columns(mark) + columns(tool) + columns(tail) + 1;
    const shown = about === '' ? '' : ` ${lineOf(about, room, this.#style)}`;
    const head = `${mark}${colour.bold(tool)}${shown}${tail === '' ? '' : colour.dim(tail)}\n`;
    const why = below ? wrappedLines(reason, indent.length + 2, this.#style, OUTPUT_LINES_MAX) : [];
    const lines = why.map((line) => `${indent}  ${colour.dim(line)}\n`).join('');
    return head + lines + this.#details(data, call?.diff ?? '', `${indent}  `);
  }

  #details(data: DataOf<'call_finished'>, diff: string, indent: string): string {
    const { colour } = this.#style;
    if (data.status === 'ok') return this.diff(diff, indent);
    if (data.status !== 'error' && data.status !== 'timeout') return '';
    const { length } = indent;
    const shown = headLines(data.output ?? '', OUTPUT_LINES_MAX, length, this.#style);
    return shown.map((line) => `${indent}${colour.dim(line)}\n`).join('');
  }

  diff(diff: string, indent: string): string {
    const lines = diff === '' ? [] : diffLines(diff, this.#style);
    return lines.map((line) => `${indent}${line}\n`).join('');
  }
}

function resultNotes(
  data: DataOf<'call_finished'>,
  reason: string | null,
  style: HumanStyle,
): string[] {
  const { status, exit_code, duration_ms } = data;
  return [
    exit_code !== null && exit_code !== 0 ? `exit ${exit_code}` : statusNote(status, style),
    reason,
    duration_ms === null ? null : durationText(duration_ms),
  ].filter((note) => note !== null);
}
