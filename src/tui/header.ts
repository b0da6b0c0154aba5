/** The two lines at the top of a run: its state and figures; its prompt, id and folder. */
import { callsText, costText, countText, durationText } from '../lib/figures.ts';
import { shortRunId } from '../lib/ids.ts';
import { tokensUsed } from '../model/run-fold.ts';
import type { Frame } from './frame.ts';
import { elapsedText } from './rows.ts';
import {
  clipped,
  cut,
  ends,
  fitting,
  markOf,
  painted,
  separatorOf,
  spinnerOf,
  type Tone,
  type TuiStyle,
} from './style.ts';

/** Ranks of the facts: on a narrow screen the highest are omitted. */
const LAST = 9;

export function headerLine(frame: Frame, style: TuiStyle): string {
  const { state, size } = frame;
  const { run } = state;
  const name = [state.agent, run.agent_version].filter((part) => part !== null).join(' ');
  const tokens = tokensUsed(run.usage.tokens);
  const { cost_usd } = run.usage;
  const { model } = run.names;
  const { sign, tone } = stateMark(frame, style);
  const room = size.cols - 2;
  const short = (text: string) => cut(text, room, style);
  const facts = [
    { text: short(`${sign} ${stateText(frame)}`), rank: 0 },
    { text: callsText(state.open_calls.count, state.failed, state.denied), rank: 1 },
    tokens === null
      ? { text: 'tokens unknown', rank: LAST }
      : { text: `${countText(tokens)} tokens`, rank: 4 },
    cost_usd === null
      ? { text: 'cost unknown', rank: LAST }
      : { text: costText(cost_usd), rank: 3 },
    { text: `step ${run.step}`, rank: 6 },
    { text: short(name), rank: 2 },
    { text: short(model ?? 'model unknown'), rank: model === null ? LAST : 5 },
  ];
  const dot = separatorOf(style);
  const [first = '', ...rest] = fitting(facts, room, dot);
  const figures = rest.length === 0 ? '' : dot + rest.join(dot);
  const line = ` ${style.colour.bold(painted(first, tone, style))}${toned(figures, style)}`;
  return clipped(line, size.cols);
}

const toned = (figures: string, { colour }: TuiStyle) =>
  figures
    .replace(/\d+ failed/, (text) => colour.red(text))
    .replace(/\d+ denied/, (text) => colour.yellow(text));

function stateText({ state, now_ms, place, loading }: Frame): string {
  const end = state.run.finished?.data ?? null;
  const took = end?.duration_ms ?? null;
  const elapsed = took === null ? elapsedText(now_ms - state.began_ms) : durationText(took);
  const running = loading ? 'loading' : place === 'live' ? 'running' : 'no end recorded';
  return `${end?.exit_reason ?? running} ${elapsed}`;
}

function stateMark(
  { state, now_ms, place }: Frame,
  { unicode }: TuiStyle,
): { sign: string; tone: Tone } {
  const end = state.run.finished?.data;
  if (end === undefined)
    return place === 'live'
      ? { sign: spinnerOf(now_ms, unicode), tone: 'cyan' }
      : { sign: '?', tone: 'dim' };
  const status = end.ok ? 'ok' : end.exit_reason === 'cancelled' ? 'cancelled' : 'error';
  return markOf(status, unicode);
}

export function promptLine({ state, size, home }: Frame, style: TuiStyle): string {
  const { run, prompt } = state;
  const { cwd } = run.names;
  const half = size.cols >> 1;
  const folder = cwd === null ? '' : cut(homely(cwd, home), half, style);
  const id = run.started === null ? '' : shortRunId(run.started.run_id);
  const parts = [
    { text: id, rank: 2 },
    { text: folder, rank: 1 },
  ].filter(({ text }) => text !== '');
  const dot = separatorOf(style);
  const right = fitting(parts, half, dot).join(dot);
  return style.colour.dim(ends(prompt ?? '', right, size.cols, style));
}

const homely = (path: string, home: string | null) =>
  home !== null && home !== '' && `${path}/`.startsWith(`${home}/`)
    ? `~${path.slice(home.length)}`
    : path;
