/**
 * The alternate screen of a terminal: paints only changed lines, and restores the terminal.
 * Contract: `close`, and any end of the process that runs exit handlers, restores the main screen, the cursor and line
 * wrapping.
 */
import { writeSync } from 'node:fs';
import type { WriteStream } from 'node:tty';
import { forColourTerminal } from '../lib/foreign-text.ts';
import { TUI_LIMITS } from './limits.ts';
import type { Size } from './style.ts';

const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J\u001b[H';
/** Cleared first: tmux shows parts of it after a window has been resized. */
const LEAVE = '\u001b[0m\u001b[2J\u001b[?7h\u001b[?1049l\u001b[?25h';
const PAINT_BEGIN = '\u001b[?2026h';
const PAINT_END = '\u001b[?2026l';
/** The size if the terminal does not report one. */
const FALLBACK: Size = { cols: 80, rows: 24 };

export type ScreenStream = WriteStream & { readonly fd: number };

/** `draw` makes the lines of the screen, after a change and at every tick. `gone`: the terminal was closed. */
export function openScreen(
  stdout: ScreenStream,
  { draw, gone }: { draw: (size: Size, now_ms: number) => string[]; gone: () => void },
) {
  let shown: string[] | null = null;
  let ready = true;
  let open = true;
  let suspended = false;
  let painted_at = 0;
  let timer: NodeJS.Timeout | null = null;

  const size = (): Size => ({
    cols: stdout.columns || FALLBACK.cols,
    rows: stdout.rows || FALLBACK.rows,
  });
  // Only time differences are shown, and the wall clock may be set in the meantime.
  const now = () => performance.now();
  const paint = (): void => {
    timer = null;
    if (!open || !ready || suspended) return;
    painted_at = now();
    const lines = draw(size(), now());
    const changed = changedLines(lines, shown);
    if (changed.length === 0) return;
    const clear = shown === null ? '\u001b[2J' : '';
    shown = lines;
    ready = stdout.write(PAINT_BEGIN + clear + changed.join('') + PAINT_END);
  };
  const schedule = (): void => {
    if (timer !== null || !open) return;
    timer = setTimeout(paint, Math.max(0, TUI_LIMITS.paint_ms - (now() - painted_at)));
  };
  const resized = (): void => {
    shown = null;
    schedule();
  };
  const drained = (): void => {
    ready = true;
    schedule();
  };
  // A closed terminal accepts no more output; the run itself continues.
  const failed = (): void => {
    ready = false;
    gone();
  };
  const restoreNow = (): void => {
    try {
      writeSync(stdout.fd, LEAVE);
    } catch {
      // The terminal was closed.
    }
  };

  stdout.on('resize', resized).on('drain', drained).on('error', failed);
  process.on('exit', restoreNow);
  stdout.write(ENTER);
  const tick = setInterval(schedule, TUI_LIMITS.tick_ms).unref();
  schedule();

  return {
    size,
    /** Shows the main screen until `resume`. */
    suspend(): void {
      suspended = true;
      restoreNow();
    },
    resume(): void {
      if (!open) return;
      suspended = false;
      stdout.write(ENTER);
      resized();
    },
    /** Signals a change: paints soon. */
    schedule,
    /** Resolves once the main screen is restored. May be called twice. */
    async close(): Promise<void> {
      if (!open) return;
      open = false;
      clearInterval(tick);
      if (timer !== null) clearTimeout(timer);
      process.off('exit', restoreNow);
      stdout.off('resize', resized).off('drain', drained);
      await new Promise<void>((resolve) => void stdout.write(LEAVE, () => resolve()));
      stdout.off('error', failed);
    },
  };
}

const changedLines = (lines: readonly string[], shown: readonly string[] | null) =>
  lines.flatMap((line, index) =>
    shown?.[index] === line
      ? []
      : [`\u001b[${index + 1};1H\u001b[0m\u001b[2K${forColourTerminal(line)}`],
  );
