/**
 * The keyboard of a terminal, key by key.
 * Contract: `close`, and any end of the process that runs exit handlers, restores the mode of the keyboard.
 */
import type { ReadStream } from 'node:tty';
import { actionOf, OTHER_KEYS } from './bindings.ts';
import { readKeys } from './keys.ts';
import { TUI_LIMITS } from './limits.ts';

interface KeyboardEvents {
  key: (key: string) => void;
  /** The terminal was closed, and no more keys will arrive. */
  gone: () => void;
  /** The process is about to be suspended: the terminal is left as it was before. */
  suspend: () => void;
  resume: () => void;
}

export function openKeyboard(stdin: ReadStream, on: KeyboardEvents) {
  let held = '';
  let waiting: NodeJS.Timeout | null = null;
  const input = (chunk: Buffer | string): void => {
    if (waiting !== null) clearTimeout(waiting);
    waiting = null;
    const read = readKeys(held, chunk.toString());
    held = read.held;
    for (const key of read.keys) take(key);
    if (held === '\u001b') waiting = setTimeout(escaped, TUI_LIMITS.escape_ms);
  };
  const escaped = (): void => {
    waiting = null;
    held = '';
    on.key('<escape>');
  };
  let suspended: NodeJS.Timeout | null = null;
  const take = (key: string): void => {
    if (actionOf(OTHER_KEYS, key) !== 'suspend') on.key(key);
    else if (suspended === null) suspend();
  };
  const suspend = (): void => {
    on.suspend();
    restore();
    // All processes of the job: a launcher may be the one that the shell waits for.
    process.kill(0, 'SIGTSTP');
    // The timer expires after the process has continued, or if nobody could continue it and the signal had no effect.
    suspended = setTimeout(() => {
      suspended = null;
      setRaw(stdin, true);
      on.resume();
    }, TUI_LIMITS.suspend_ms);
  };
  const restore = (): void => setRaw(stdin, false);

  process.on('exit', restore);
  setRaw(stdin, true);
  stdin.on('data', input).on('error', on.gone).on('end', on.gone).on('close', on.gone).resume();
  return {
    close(): void {
      process.off('exit', restore);
      if (waiting !== null) clearTimeout(waiting);
      if (suspended !== null) clearTimeout(suspended);
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
