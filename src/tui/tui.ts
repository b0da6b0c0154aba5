/** The full-screen view of one run. The caller owns the keyboard, and may use it while the view is closed. */
import { createColours } from '../lib/colours.ts';
import { layout } from './layout.ts';
import { pressKey, type Wish } from './press.ts';
import type { RunView } from './run-view.ts';
import { openScreen, type ScreenStream } from './screen.ts';
import type { TuiState } from './state.ts';
import type { TuiStyle } from './style.ts';

export interface TuiLook {
  colour: boolean;
  /** Whether non-ASCII characters may be used. */
  unicode: boolean;
  /** Path prefixes that are shown as `~`. */
  home: string | null;
}

export interface TuiInput extends TuiLook {
  stdout: ScreenStream;
  /** The run to show; may change between calls. */
  run: () => { state: TuiState; view: RunView };
  /** The terminal was closed. */
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
    const place = state.run.finished === null ? ('live' as const) : ('ended' as const);
    return { state, view, place };
  };
  const { home } = look;
  const screen = openScreen(stdout, {
    draw: (size, now_ms) => layout({ ...now(), size, now_ms, home, loading: false }, style),
    gone,
  });
  return {
    /** Signals a change of the run. */
    changed: screen.schedule,
    press(key: string): Wish {
      const wish = pressKey({ ...now(), size: screen.size() }, key);
      screen.schedule();
      return wish;
    },
    suspend: screen.suspend,
    resume: screen.resume,
    close: screen.close,
  };
}
