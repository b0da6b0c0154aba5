/** Pages over the list of a run: the details of a row, and facts about the run. */

import { callsText, costText, tokensText } from '../lib/figures.ts';
import { localTime } from '../lib/local-time.ts';
import { tokensUsed } from '../model/run-fold.ts';
import type { Move } from './bindings.ts';
import { detailLines, type PageLine, wrapped } from './detail.ts';
import { movedTo } from './moves.ts';
import { divide, type OpenPage, pageRoom, type RunScreen } from './run-view.ts';
import { rowAt, type TuiState } from './state.ts';

export const pageOf = (row: number, kind: OpenPage['kind'] = 'detail'): OpenPage => ({
  kind,
  row,
  top: 0,
  found: null,
});

/** Lines of a page, escaped and wrapped. */
export function pageLines({ state, size }: RunScreen, page: OpenPage): PageLine[] {
  const { page: cols } = divide(size);
  if (page.kind === 'about') return aboutLines(state, cols);
  const row = rowAt(state, page.row);
  if (row === undefined) return [{ text: 'The view no longer has this line.', tone: 'yellow' }];
  return detailLines(state, row, cols);
}

export function movePage(screen: RunScreen, page: OpenPage, move: Move): void {
  const room = pageRoom(screen.size);
  const last = Math.max(0, pageLines(screen, page).length - room);
  page.top = movedTo(page.top, move, { page: room, last });
  page.found = null;
}

/** A prompt may be as long as an output: its lines are cached. */
const prompts = new WeakMap<TuiState, { prompt: string; cols: number; lines: PageLine[] }>();

function promptLines(state: TuiState, cols: number): PageLine[] {
  const prompt = state.prompt ?? 'unknown';
  const kept = prompts.get(state);
  if (kept?.prompt === prompt && kept.cols === cols) return kept.lines;
  const lines = wrapped(prompt, cols, () => 'plain');
  prompts.set(state, { prompt, cols, lines });
  return lines;
}

const NAME_WIDTH = 9;

function aboutLines(state: TuiState, cols: number): PageLine[] {
  const { run, open_calls, failed, denied } = state;
  const { started, names, usage } = run;
  const { cost_usd, tokens } = usage;
  const used = tokensUsed(tokens);
  const facts: [string, string | null][] = [
    ['run', started?.run_id ?? null],
    ['session', names.session_id],
    ['started', localTime(started?.at_ms ?? null)],
    ['folder', names.cwd],
    ['agent', [state.agent, run.agent_version].filter((part) => part !== null).join(' ')],
    ['model', names.model],
    ['steps', String(run.step)],
    ['calls', callsText(open_calls.count, failed, denied).replace(/ calls?/, '')],
    ['tokens', used === null ? null : tokensText(used, tokens).replace(' tokens', '')],
    ['cost', cost_usd === null ? null : costText(cost_usd)],
  ];
  return [
    { text: 'prompt', tone: 'bold' },
    ...promptLines(state, cols),
    { text: '', tone: 'plain' },
    ...facts.flatMap(([name, value]) =>
      wrapped(`${name.padEnd(NAME_WIDTH)}${value ?? 'unknown'}`, cols, () => 'plain'),
    ),
  ];
}
