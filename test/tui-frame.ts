/** The view of a run without a terminal: its state, keys and lines. */
import type { Event } from '../src/model/event.ts';
import { editDiff } from '../src/projections/human-parts.ts';
import { createTuiState, takeEvent } from '../src/tui/fold.ts';
import type { Frame } from '../src/tui/frame.ts';
import { layout } from '../src/tui/layout.ts';
import { pressKey, type Wish } from '../src/tui/press.ts';
import { newRunView } from '../src/tui/run-view.ts';
import type { TuiState } from '../src/tui/state.ts';
import type { TuiStyle } from '../src/tui/style.ts';

const plain = (text: string) => text;
export const PLAIN: TuiStyle = {
  colour: {
    bold: plain,
    dim: plain,
    red: plain,
    green: plain,
    yellow: plain,
    cyan: plain,
    inverse: plain,
  },
  unicode: true,
};

export const newState = (): TuiState =>
  createTuiState({ agent: 'demo', now_ms: 0, diffOf: editDiff });

export function frameOf(events: readonly Event[], size = { cols: 50, rows: 12 }): Frame {
  const state = newState();
  for (const event of events) takeEvent(state, event, 1000);
  return {
    state,
    view: newRunView(),
    size,
    now_ms: 3400,
    home: '/home/user',
    place: state.run.finished === null ? 'live' : 'ended',
    loading: false,
  };
}

export const linesOf = (frame: Frame): string[] =>
  layout(frame, PLAIN).map((line) => line.trimEnd());

/** Without header and footer. */
export const bodyOf = (frame: Frame): string[] => linesOf(frame).slice(2, -2);

/** Returns the request made by the last key. */
export function press(frame: Frame, ...keys: string[]): Wish {
  let wish: Wish = null;
  for (const key of keys) wish = pressKey(frame, key);
  return wish;
}
