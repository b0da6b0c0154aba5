/** A comparison of runs for people: figures, then the calls. */
import { plural } from '../../lib/figures.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import type { AlignedCall, CallRef, Parting, RunComparison } from '../../model/comparison.ts';
import type { CallMark } from '../../model/words.ts';
import type { Colours, HumanStyle } from '../../projections/human-parts.ts';
import { figureLines, fileLines, namesOf, spreadLines } from './figures.ts';

const MARKS: Readonly<Record<CallMark, { sign: string; paint: keyof Colours }>> = {
  equal: { sign: '=', paint: 'dim' },
  changed: { sign: '~', paint: 'yellow' },
  moved: { sign: '>', paint: 'cyan' },
  added: { sign: '+', paint: 'green' },
  removed: { sign: '-', paint: 'red' },
};
/** Shorter stretches of equal calls are listed. */
const FOLDED_MIN = 4;
const SHARED_SHOWN = 3;

/** `Bash: npm test`. */
const nameOf = ({ tool, about }: CallRef) => (about === '' ? tool : `${tool}: ${about}`);

const statusOf = ({ status, exit_code }: CallRef) =>
  exit_code === null || exit_code === 0 ? status : `${status}, exit code ${exit_code}`;

export function comparisonText(comparison: RunComparison, all: boolean, style: HumanStyle): string {
  const files = fileLines(comparison, all, style);
  const parts = [
    figureLines(comparison, style),
    noteLines(comparison),
    files,
    ...(comparison.medoid === null
      ? [callLines(comparison, all, style)]
      : [spreadLines(comparison), sharedLines(comparison, all, style)]),
  ];
  const shown = parts.filter((lines) => lines.length > 0).map((lines) => `${lines.join('\n')}\n`);
  return shown.join('\n');
}

function noteLines(comparison: RunComparison): string[] {
  const { runs, medoid, outputs_compared } = comparison;
  const names = namesOf(comparison);
  const notes = runs.flatMap(({ finished, calls_not_compared: left }, at) => [
    ...(finished ? [] : [`note: ${names[at]} is not finished: its calls so far are compared`]),
    ...(left === 0 ? [] : [`note: ${names[at]}: the last ${plural(left, 'call')} not compared`]),
  ]);
  const agents = new Set(runs.map(({ agent }) => agent)).size;
  if (!outputs_compared && agents > 1)
    notes.push('note: the runs are of different agents, so outputs of calls are not compared');
  if (medoid !== null)
    notes.push(`* ${names[medoid]} is the medoid: the run that is nearest to all others`);
  return notes;
}

const numbers = ({ a, b }: AlignedCall, width: number) =>
  [a, b].map((call) => String(call?.number ?? '').padStart(width)).join(' ');

function callLines(comparison: RunComparison, all: boolean, style: HumanStyle): string[] {
  const [alignment] = comparison.alignments;
  if (alignment === undefined) return [];
  const { calls, counts, first_divergence: first } = alignment;
  const [a = '', b = ''] = namesOf(comparison);
  const words = Object.entries(counts).filter(([, count]) => count > 0);
  const summary = words.map(([mark, count]) => `${count} ${mark}`).join(', ');
  const head = `aligned calls: ${summary === '' ? 'none' : summary}`;
  if (first === null)
    return [head, 'no divergence', ...(all ? listed(calls, { all, first, style }) : [])];
  return [head, ...listed(calls, { all, first, style, names: [a, b] })];
}

interface Listing {
  all: boolean;
  first: number | null;
  style: HumanStyle;
  names?: [string, string];
}

function listed(calls: readonly AlignedCall[], { all, first, style, names }: Listing): string[] {
  const width = String(calls.length).length;
  const lines: string[] = [];
  for (let at = 0; at < calls.length; ) {
    let end = at;
    while (!all && calls[end]?.mark === 'equal') end += 1;
    if (end - at >= FOLDED_MIN) {
      lines.push(style.colour.dim(`= ${plural(end - at, 'equal call')}`));
      at = end;
      continue;
    }
    if (at === first && names !== undefined)
      lines.push(...divergenceLines(calls[at] as AlignedCall, names, style));
    lines.push(...linesOf(calls[at] as AlignedCall, width, style));
    at += 1;
  }
  return lines;
}

/** Marks the place, and how to open both runs there. */
function divergenceLines({ a, b }: AlignedCall, names: [string, string], style: HumanStyle) {
  const open = [a, b].flatMap((call, at) =>
    call === null ? [] : [`  tacho show ${names[at]} --at seq:${call.seq}`],
  );
  return [style.colour.bold('first divergence:'), ...open.map(style.colour.dim)];
}

function linesOf(call: AlignedCall, width: number, style: HumanStyle): string[] {
  const { mark, a, b, input, result } = call;
  const { sign, paint } = MARKS[mark];
  const indent = `${sign} ${numbers(call, width)}  `;
  const room = style.width - indent.length;
  const line = (text: string, label = '') =>
    ' '.repeat(indent.length) + label + oneLine(text, room - label.length);
  const shown = (a ?? b) as CallRef;
  const lines = [style.colour[paint](`${indent}${oneLine(nameOf(shown), room)}`)];
  if (a === null || b === null) return lines;
  if (input === 'changed') lines.push(line(differingText(a, b), 'now: '));
  if (result === 'changed') {
    const [before, now] = [statusOf(a), statusOf(b)];
    lines.push(line(before === now ? 'another output' : `${before} -> ${now}`, 'result: '));
  }
  return lines;
}

/** The second call; if only a field that is not shown differs, this. */
const differingText = (a: CallRef, b: CallRef) =>
  nameOf(a) === nameOf(b) ? `${nameOf(b)} (with another input)` : nameOf(b);

function sharedLines(comparison: RunComparison, all: boolean, style: HumanStyle): string[] {
  const { runs, shared, partings } = comparison;
  const lines = [
    `all ${runs.length} runs share ${plural(shared.length, 'call')}` +
      (partings.length === 0 ? ', and have no others' : ''),
  ];
  let from = 0;
  for (const parting of [...partings, null]) {
    const to = parting?.after ?? shared.length;
    const some = shared.slice(from, to);
    const one = (call: CallRef) => style.colour.dim(`= ${oneLine(nameOf(call), style.width - 2)}`);
    if (all || some.length <= SHARED_SHOWN) lines.push(...some.map(one));
    else lines.push(style.colour.dim(`= ${plural(some.length, 'shared call')}`));
    if (parting !== null)
      lines.push(...partingLines(parting, partings[0] === parting, comparison, style));
    from = to;
  }
  return lines;
}

function partingLines(
  { after, ways }: Parting,
  first: boolean,
  comparison: RunComparison,
  { width, colour }: HumanStyle,
): string[] {
  const names = namesOf(comparison);
  const head = `${first ? 'first divergence: ' : ''}the runs part after ${after === 0 ? 'their start' : `shared call ${after}`}`;
  const lines = ways.map(({ runs, count, calls }) => {
    const who = runs.map((run) => (names.length > 4 ? run + 1 : names[run])).join(', ');
    const shown = calls.slice(0, SHARED_SHOWN).map(nameOf);
    const more = count - shown.length;
    const what =
      count === 0 ? 'no call' : [...shown, ...(more > 0 ? [`${more} more`] : [])].join('; ');
    return oneLine(`  ~ ${who}: ${what}`, width).replace(/^/, '  ');
  });
  return [first ? colour.bold(head) : head, ...lines];
}
