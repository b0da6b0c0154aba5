/**
 * The keyboard of a terminal, key by key.
 * Contract: `close`, and any end of the process that runs exit handlers, restores the mode of the keyboard.
 */
import type { ReadStream } from 'node:tty';
import { readKeys } from './keys.ts';
import { TUI_LIMITS } from './limits.ts';

/** `gone`: the terminal was closed, and no more keys will arrive. */
export function openKeyboard(
  stdin: ReadStream,
  on: { key: (key: string) => void; gone: () => void },
) {
  let held = '';
  let waiting: NodeJS.Timeout | null = null;
  const input = (chunk: Buffer | string): void => {
    if (waiting !== null) clearTimeout(waiting);
    waiting = null;
    const read = readKeys(held, chunk.toString());
    held = read.held;
    for (const key of read.keys) on.key(key);
    if (held === '\u001b') waiting = setTimeout(escaped, TUI_LIMITS.escape_ms);
  };
  const escaped = (): void => {
    waiting = null;
    held = '';
    on.key('<escape>');
  };
  const restore = (): void => setRaw(stdin, false);

  process.on('exit', restore);
  setRaw(stdin, true);
  stdin.on('data', input).on('error', on.gone).on('end', on.gone).on('close', on.gone).resume();
  return {
    close(): void {
      process.off('exit', restore);
      if (waiting !== null) clearTimeout(waiting);
      stdin.off('data', input).off('end', on.gone).off('close', on.gone).pause();
      restore();
      stdin.off('error', on.gone);
    },
  };
}

function setRaw(stdin: ReadStream, raw: boolean): void {
  try {
    if (stdin.isTTY === true) stdin.setRawMode(raw);
  } catch {
    // The terminal was closed.
  }
}
