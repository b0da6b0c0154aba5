/** The live view: takes events as they come, shows them full-screen, hands the wish to stop to the app. */
import { createColours } from '../lib/colours.ts';
import type { Event } from '../model/event.ts';
import { type Key, readKeys } from './keys.ts';
import { bodyRows, layout, type Place, type Scroll, scroll, type TuiStyle } from './layout.ts';
import { TUI_LIMITS } from './limits.ts';
import { openScreen, type Terminal } from './screen.ts';
import { createTuiState, takeEvent } from './state.ts';

export interface TuiOptions extends Terminal {
  agent: string;
  /** The person asked to stop (q or Ctrl-C); may come more than once. */
  onInterrupt: () => void;
  /** Default: true. */
  colour?: boolean;
  /** Whether signs beyond ASCII may be used. Default: true. */
  unicode?: boolean;
}

/** How often running calls and the elapsed time are looked at again. */
const TICK_MS = 100;

export function createTui(options: TuiOptions) {
  const { stdout, stdin, onInterrupt } = options;
  // Only differences are shown, and the wall clock may be set meanwhile.
  const now = () => performance.now();
  const { colour = true, unicode = true } = options;
  const style: TuiStyle = { colour: createColours(colour), unicode };
  const state = createTuiState(options.agent, now());
  let place: Place = 'end';
  let held = '';
  let cancelling = false;
  let painted_at = 0;
  let timer: NodeJS.Timeout | null = null;
  let finishing: Promise<void> | null = null;

  const paint = (): void => {
    timer = null;
    if (finishing !== null || !screen.ready()) return;
    painted_at = now();
    const frame = { state, place, size: screen.size(), now_ms: now(), cancelling };
    screen.paint(layout(frame, style));
  };
  const schedule = (): void => {
    if (timer !== null || finishing !== null) return;
    const wait = Math.max(0, TUI_LIMITS.paint_ms - (now() - painted_at));
    timer = setTimeout(paint, wait);
  };
  const press = (key: Key): void => {
    if (key === 'interrupt') {
      cancelling = true;
      onInterrupt();
    } else {
      const size = screen.size();
      place = scroll({ state, place, size }, scrollOf(key, bodyRows(size)));
    }
    schedule();
  };
  const screen = openScreen(
    { stdout, stdin },
    {
      input(text) {
        const read = readKeys(held, text);
        held = read.held;
        for (const key of read.keys) press(key);
      },
      resize() {
        screen.reset();
        schedule();
      },
      ready: schedule,
    },
  );
  const tick = setInterval(schedule, TICK_MS).unref();
  schedule();

  return {
    event(event: Event): void {
      takeEvent(state, event, now());
      schedule();
    },
    /** Leaves the screen as it was; resolves once the terminal has it. May be called twice. */
    finish(): Promise<void> {
      if (finishing === null) {
        clearInterval(tick);
        if (timer !== null) clearTimeout(timer);
        finishing = screen.close();
      }
      return finishing;
    },
  };
}

function scrollOf(key: Exclude<Key, 'interrupt'>, page: number): Scroll {
  if (key === 'first' || key === 'last') return key;
  // A page overlaps the one before by a line, so that the eye finds its place.
  const far = Math.max(1, page - 1);
  return { by: { up: -1, down: 1, page_up: -far, page_down: far }[key] };
}
