/** One line at the bottom of a terminal that says how far an eval is; nothing where there is no terminal. */
import { oneLine } from '../../lib/terminal-text.ts';
import type { Io } from '../command.ts';

const EVERY_MS = 250;
const ERASE = '\r\u001b[K';

/** `total`: null where it is not known before. */
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
    /** A line of the result, above the progress. */
    print(text: string): void {
      // Gradings of transcripts come by thousands: a write for each would cost more than they do.
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
