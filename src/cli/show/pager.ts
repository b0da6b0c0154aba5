/** Shows long text one screen at a time, through $PAGER or less; directly if there is neither. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { findProgram } from '../../capture/source/find-program.ts';
import type { Io } from '../command.ts';
import { createTextFilter } from '../io.ts';

/** Shows colours, and leaves text that fits on the screen there. */
const LESS = 'FRX';

function commandOf({ env }: Io): string | null {
  if (env.PAGER !== undefined) return env.PAGER.trim() === 'cat' ? null : env.PAGER.trim() || null;
  return findProgram('less', env.PATH, process.cwd()) === null ? null : 'less';
}

export const plainOutput = ({ out }: Io) => ({
  /** Text for people, escaped as on standard output. */
  write: (piece: string) => out.write(piece),
  /** Whether the reader has closed it. */
  gone: () => out.gone,
  /** Waits until the reader is done. */
  close: async () => undefined as undefined,
});

export function openPager(io: Io): ReturnType<typeof plainOutput> {
  const command = commandOf(io);
  if (command === null) return plainOutput(io);
  const harmless = createTextFilter(io.env, () => io.colour);
  const child = spawn(command, {
    shell: true,
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS, ...io.env },
  });
  let gone = false;
  const leave = () => {
    gone = true;
  };
  child.stdin.on('error', leave);
  child.on('error', leave);
  const ended = once(child, 'close').then(leave, leave);
  // Ctrl-C reaches both, and the pager handles it.
  const ignore = () => undefined;
  process.on('SIGINT', ignore);
  return {
    async write(piece) {
      if (gone || child.stdin.write(harmless(piece))) return;
      await Promise.race([once(child.stdin, 'drain').catch(leave), ended]);
    },
    gone: () => gone,
    async close() {
      child.stdin.end();
      await ended;
      process.off('SIGINT', ignore);
    },
  };
}
