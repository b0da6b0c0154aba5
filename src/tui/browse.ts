/** The full-screen list of past runs, and the view of the opened run. */
import { setImmediate as pause } from 'node:timers/promises';
import type { ReadStream } from 'node:tty';
import type { Event } from '../model/event.ts';
import { createTuiState, takeEvent } from './fold.ts';
import { openKeyboard } from './keyboard.ts';
import { layout } from './layout.ts';
import { TUI_LIMITS } from './limits.ts';
import { pressKey } from './press.ts';
import type { RunTable } from './run-lines.ts';
import { newRunView } from './run-view.ts';
import { type ListedRun, RunsView } from './runs-view.ts';
import { openScreen, type ScreenStream } from './screen.ts';
import { addNote, type TuiOptions } from './state.ts';
import { styleOf, type TuiLook } from './tui.ts';

export interface BrowseInput<T extends ListedRun> extends TuiLook, Pick<TuiOptions, 'diffOf'> {
  stdout: ScreenStream;
  stdin: ReadStream;
  /** Where the runs are stored. */
  place: string;
  /** The newest runs, and whether there are more. */
  list: () => { runs: readonly T[]; more: boolean };
  /** Whether there are other runs than `list` returned last. */
  changed: () => boolean;
  table: RunTable<T>;
  /** The recorded events of a run; they are read only when it is opened. */
  events: (run: T) => AsyncIterable<Event>;
}

/** Number of events after which keys are handled. */
const READ_AT_ONCE = 500;

/** Ends when the user quits or the terminal is closed. */
export function browse<T extends ListedRun>(
  input: BrowseInput<T>,
): { ended: Promise<void>; quit: () => void } {
  const { promise, resolve: quit } = Promise.withResolvers<void>();
  const style = styleOf(input);
  const runs = new RunsView<T>(input.table, input.place);
  const read = () => {
    const { runs: found, more } = input.list();
    runs.take(found, more);
  };
  read();
  let opened: OpenedRun | null = null;
  const screen = openScreen(input.stdout, {
    draw: (size) =>
      opened === null
        ? runs.lines(size, style)
        : layout({ ...opened.screen(size), home: input.home }, style),
    gone: quit,
  });
  const keyboard = openKeyboard(input.stdin, {
    key(key) {
      const size = screen.size();
      if (opened !== null) {
        const wish = pressKey(opened.screen(size), key);
        if (wish === 'quit') quit();
        else if (wish === 'leave') {
          opened.close();
          opened = null;
        }
      } else {
        const wish = runs.press(key, size);
        if (wish === 'quit') quit();
        else if (wish === 'reload') read();
        else if (wish !== null) {
          opened = new OpenedRun(wish.open.agent, input.diffOf);
          void opened.read(input.events(wish.open), screen.schedule);
        }
      }
      screen.schedule();
    },
    gone: quit,
    suspend: screen.suspend,
    resume: screen.resume,
  });
  const refresh = setInterval(() => {
    if (opened !== null || !input.changed()) return;
    read();
    screen.schedule();
  }, TUI_LIMITS.refresh_ms).unref();
  const ended = promise.then(async () => {
    clearInterval(refresh);
    opened?.close();
    keyboard.close();
    await screen.close();
  });
  return { ended, quit };
}

/** A past run, read from its record as far as the view keeps it. */
class OpenedRun {
  readonly #state;
  readonly #view = newRunView();
  #loading = true;
  #closed = false;

  constructor(agent: string, diffOf: TuiOptions['diffOf']) {
    this.#state = createTuiState({ agent, now_ms: 0, diffOf });
    // A past run is read from its beginning.
    this.#view.cursor = { row: 0, line: 0 };
  }

  screen(size: { cols: number; rows: number }) {
    const { now_ms } = this.#state;
    const rest = { size, now_ms, place: 'past' as const, loading: this.#loading };
    return { state: this.#state, view: this.#view, ...rest };
  }

  async read(events: AsyncIterable<Event>, changed: () => void): Promise<void> {
    let count = 0;
    try {
      for await (const event of events) {
        if (this.#closed) return;
        if (count === 0) this.#state.began_ms = event.at_ms;
        takeEvent(this.#state, event, event.at_ms);
        count += 1;
        if (count % READ_AT_ONCE !== 0) continue;
        changed();
        await pause();
      }
    } catch (error) {
      addNote(this.#state, `The record cannot be read: ${(error as Error).message}`, 'red');
    }
    this.#loading = false;
    changed();
  }

  close(): void {
    this.#closed = true;
  }
}
