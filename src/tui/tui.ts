/** The full-screen view of one run. The keyboard is the caller's: it may be used while the view is closed. */
import { createColours } from '../lib/colours.ts';
import { layout } from './layout.ts';
import { pressKey, type RunView, type Wish } from './run-view.ts';
import { openScreen, type ScreenStream } from './screen.ts';
import type { TuiState } from './state.ts';
import type { TuiStyle } from './style.ts';

export interface TuiLook {
  colour: boolean;
  /** Whether signs beyond ASCII may be used. */
  unicode: boolean;
  /** Beginnings of paths that are shown as `~`. */
  home: string | null;
}

export interface TuiInput extends TuiLook {
  stdout: ScreenStream;
  /** The run to show; it may be another one at each call. */
  run: () => { state: TuiState; view: RunView };
  /** The terminal takes nothing any more. */
  gone: () => void;
}

export const styleOf = ({ colour, unicode }: TuiLook): TuiStyle => ({
  colour: createColours(colour),
  unicode,
});

export function openTui({ stdout, run, gone, ...look }: TuiInput) {
  const style = styleOf(look);
  const now = () => {
    const { state, view } = run();
    return { state, view, live: state.run.finished === null };
  };
  const { home } = look;
  const screen = openScreen(stdout, {
    draw: (size, now_ms) =>
      layout({ ...now(), size, now_ms, home, loading: false, leave: 'quit' }, style),
    gone,
  });
  return {
    /** The run changed. */
    changed: screen.schedule,
    press(key: string): Wish {
      const wish = pressKey({ ...now(), size: screen.size() }, key);
      screen.schedule();
      return wish;
    },
    close: screen.close,
  };
}
