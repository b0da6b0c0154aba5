/** One line at the bottom of a terminal that shows the progress of an eval. Prints nothing without a terminal. */
import { oneLine } from '../../lib/terminal-text.ts';
import type { Io } from '../command.ts';

const EVERY_MS = 250;
const ERASE = '\r\u001b[K';

/** `total`: null if it is not known in advance. */
export function createProgress(io: Io, total: number | null) {
  const shown = io.out_is_terminal && io.env.TERM !== 'dumb';
  const running = new Map<string, number>();
  let ended = 0;
  const line = () => {
    const of = total === null ? `${ended}` : `${ended} of ${total}`;
    const names = [...running].map(
      ([name, since]) => `${name} ${Math.round((performance.now() - since) / 1000)}s`,
    );
    return oneLine(`${of} done${names.length > 0 ? `; ${names.join(', ')}` : ''}`, io.width - 1);
  };
  const erase = () => void io.out.own(ERASE);
  const paint = () => {
    erase();
    void io.out.write(line());
  };
  let waiting = '';
  const flush = () => {
    if (waiting === '') return;
    if (shown) erase();
    void io.out.write(shown ? `${waiting}${line()}` : waiting);
    waiting = '';
  };
  const timer = shown ? setInterval(paint, EVERY_MS) : null;
  return {
    start: (name: string) => void running.set(name, performance.now()),
    end(name: string): void {
      ended += 1;
      running.delete(name);
    },
    /** Prints a line of the result, above the progress. */
    print(text: string): void {
      // There may be thousands of gradings: one write each would cost more than the gradings.
      if (waiting === '') setImmediate(flush);
      waiting += text;
    },
    close(): void {
      flush();
      if (timer === null) return;
      clearInterval(timer);
      erase();
    },
  };
}
