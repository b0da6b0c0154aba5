/**
 * The terminal's side of the live view: the alternate screen, painting of changed lines only, and leaving it clean.
 * Contract: after `close`, and when the process ends in any way that runs exit handlers, the main screen, the cursor,
 * line wrapping and the keyboard's mode are as they were.
 */
import { writeSync } from 'node:fs';
import type { ReadStream, WriteStream } from 'node:tty';
import { forColourTerminal } from '../lib/foreign-text.ts';
import type { Size } from './layout.ts';

const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J\u001b[H';
const LEAVE = '\u001b[0m\u001b[?7h\u001b[?1049l\u001b[?25h';
const PAINT_BEGIN = '\u001b[?2026h';
const PAINT_END = '\u001b[?2026l';
/** Where the terminal does not say. */
const FALLBACK: Size = { cols: 80, rows: 24 };

export interface Terminal {
  stdout: WriteStream & { readonly fd: number };
  stdin: ReadStream;
}

export function openScreen(
  { stdout, stdin }: Terminal,
  on: { input: (text: string) => void; resize: () => void; ready: () => void },
) {
  let shown: string[] | null = null;
  let ready = true;
  let open = true;
  const keyboard = stdin.isTTY === true;

  const input = (chunk: Buffer | string): void => on.input(chunk.toString());
  const drained = (): void => {
    ready = true;
    on.ready();
  };
  // A terminal that went away takes nothing any more; the run itself goes on.
  const failed = (): void => {
    ready = false;
  };
  const restoreNow = (): void => {
    if (!open) return;
    open = false;
    setRaw(stdin, false);
    try {
      writeSync(stdout.fd, LEAVE);
    } catch {
      // Nobody is there to see it.
    }
  };

  stdout.on('resize', on.resize).on('drain', drained).on('error', failed);
  process.on('exit', restoreNow);
  if (keyboard) {
    setRaw(stdin, true);
    stdin.on('data', input).on('error', failed).resume();
  }
  stdout.write(ENTER);

  return {
    size: (): Size => ({
      cols: stdout.columns || FALLBACK.cols,
      rows: stdout.rows || FALLBACK.rows,
    }),
    /** Whether the terminal has taken what was painted before. */
    ready: () => ready,
    paint(lines: readonly string[]): void {
      if (!open || !ready) return;
      const changed = changedLines(lines, shown);
      if (changed.length === 0) return;
      const clear = shown === null ? '\u001b[2J' : '';
      shown = [...lines];
      ready = stdout.write(PAINT_BEGIN + clear + changed.join('') + PAINT_END);
    },
    /** Forget what is on the screen: the next paint paints everything. */
    reset(): void {
      shown = null;
    },
    async close(): Promise<void> {
      process.off('exit', restoreNow);
      stdout.off('resize', on.resize).off('drain', drained);
      if (keyboard) {
        stdin.off('data', input).off('error', failed).pause();
        setRaw(stdin, false);
      }
      if (!open) return;
      open = false;
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

function setRaw(stdin: ReadStream, raw: boolean): void {
  try {
    if (stdin.isTTY === true) stdin.setRawMode(raw);
  } catch {
    // The terminal is gone.
  }
}
