/** The outcome of a run as text for people. Contract: the text contains no foreign control characters. */
import { callsText, durationText, plural, sourcedCost, tokensText } from '../lib/figures.ts';
import { localTime } from '../lib/local-time.ts';
import { evidenceText, recordText, resultText } from '../lib/record-words.ts';
import { columns } from '../lib/terminal-text.ts';
import type { Artifact } from '../model/outcome.ts';
import type { Completeness } from '../model/parts.ts';
import { tokensUsed } from '../model/run-fold.ts';
import type { UnfinishedState } from '../model/unfinished.ts';
import { IMPORTED_FILE_LABEL, IMPORTED_SHA256_LABEL } from '../model/words.ts';
import { dotOf, type HumanStyle, markOf, wrappedLines } from './human-parts.ts';
import type { RunHead } from './run-head.ts';

const FILES_MAX = 50;
const PROMPT_LINES_MAX = 4;
const NAME_COLUMNS = 10;

type Row = [name: string, value: string | null, paint?: 'red' | 'yellow'];

interface HeadMore {
  /** False if the transcript follows, which begins with it. Default: true. */
  prompt?: boolean;
  /** The state of a run that may not be finished. */
  unfinished?: UnfinishedState | null;
}

/** One line per fact. */
export function headText(head: RunHead, style: HumanStyle, more: HeadMore = {}): string {
  const { prompt = true, unfinished = null } = more;
  const dot = dotOf(style);
  const joined = (...parts: (string | null)[]) =>
    parts.filter((part) => part !== null && part !== '').join(dot);
  const { completeness, duration_ms, cost } = head;
  const { [IMPORTED_FILE_LABEL]: imported = null, ...labels } = head.labels;
  const rows: Row[] = [
    ['run', head.run_id],
    ['agent', joined(head.agent, head.model)],
    ['session', head.session_id],
    ['project', head.project],
    ['imported', imported === null ? null : `from ${imported}`],
    ['labels', labelsText(labels)],
    [
      'started',
      joined(
        localTime(head.started_ms) ?? 'at an unknown time',
        duration_ms === null ? 'duration unknown' : `took ${durationText(duration_ms)}`,
      ),
    ],
    ['state', unfinished && stateText(unfinished), 'yellow'],
    ['prompt', prompt ? head.prompt : null],
    ['error', head.error, 'red'],
    ['record', recordText(completeness).replace(/^record /, ''), ...unlessWhole(completeness)],
    ['work', joined(plural(head.steps, 'step'), callsText(head.calls, head.failed, head.denied))],
    [
      'usage',
      joined(
        tokensText(tokensUsed(head.usage), head.usage),
        cost === null ? 'cost unknown' : sourcedCost(cost, head.cost_source),
      ),
    ],
    ['files', filesText(head.files)],
    ['skills', head.skills.join(', ')],
    ...warningsOf(head).map((text): Row => ['warning', text, 'yellow']),
  ];
  const shown = rows.filter(([, value]) => value !== null && value !== '');
  const at = shown.findIndex(([name]) => name === 'error' || name === 'record');
  const lines = shown.map((row) => rowText(row, style));
  lines.splice(at, 0, resultLine(head, style));
  return lines.join('');
}

const stateText = ({ state, reason, since_ms }: UnfinishedState) =>
  `${state} since ${localTime(since_ms) ?? 'an unknown time'}: ${reason}`;

const unlessWhole = ({ grade }: Completeness): ['yellow'] | [] =>
  grade === 'complete' ? [] : ['yellow'];

function resultLine({ success, exit_reason, evidence }: RunHead, style: HumanStyle): string {
  const status = success ? 'ok' : exit_reason === 'cancelled' ? 'cancelled' : 'error';
  const mark = style.unicode ? `${markOf(status, style)} ` : '';
  const { bold, dim } = style.colour;
  const indent = NAME_COLUMNS + columns(mark);
  const [first = '', ...more] = wrappedLines(resultText(exit_reason), indent, style).map(bold);
  const lines = [`${dim('result'.padEnd(NAME_COLUMNS))}${mark}${first}`];
  lines.push(...more.map((line) => `${' '.repeat(indent)}${line}`));
  const from = ` (${evidenceText(evidence)})`;
  if (columns(lines.at(-1) as string) + columns(from) > style.width)
    lines.push(...wrappedLines(from, indent, style).map((line) => ' '.repeat(indent) + dim(line)));
  else lines.push(`${lines.pop()}${dim(from)}`);
  return `${lines.join('\n')}\n`;
}

/** The digest only serves to recognise the file again. */
function labelsText(labels: RunHead['labels']): string {
  return Object.entries(labels)
    .filter(([name]) => name !== IMPORTED_SHA256_LABEL)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
}

/** Each warning once, with its count, and without the text of the error, which has its own line. */
function warningsOf({ warnings, error }: RunHead): string[] {
  const end = `: ${error?.replace(/\s+/g, ' ').trim()}`;
  const counts = new Map<string, number>();
  for (const given of warnings) {
    const text = given.endsWith(end) ? given.slice(0, -end.length) : given;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].map(([text, count]) => (count === 1 ? text : `${text} (${count} times)`));
}

function rowText([name, value, paint]: Row, style: HumanStyle): string {
  const most = name === 'prompt' ? PROMPT_LINES_MAX : undefined;
  return wrappedLines(value ?? '', NAME_COLUMNS, style, most)
    .map((line, at) => {
      const head =
        at === 0 ? style.colour.dim(name.padEnd(NAME_COLUMNS)) : ' '.repeat(NAME_COLUMNS);
      return `${head}${paint === undefined ? line : style.colour[paint](line)}\n`;
    })
    .join('');
}

function filesText(files: readonly Artifact[]): string {
  const shown = files.slice(0, FILES_MAX).map(({ path, operation }) => `${path} ${operation}`);
  const more = files.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
}
