/** The live view as a sink: full-screen while the run goes on, the summary on the normal screen after it. */
import { createColours } from '../../lib/colours.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import type { Event } from '../../model/event.ts';
import { HumanProjection } from '../../projections/human.ts';
import { createTui } from '../../tui/tui.ts';
import type { Io } from '../command.ts';

export function createTuiView(
  io: Io,
  { cwd, ...options }: { agent: string; cwd: string; onInterrupt: () => void },
) {
  const { unicode, width } = io;
  const { stdout, stdin } = process;
  const tui = createTui({ stdout, stdin, ...options, colour: io.colour, unicode });
  const colour = createColours(io.colour);
  const human = new HumanProjection({ colour, unicode, width, stream: false, cwd });
  let ending = '';
  let closed = false;
  return {
    take(events: readonly Event[]): void {
      for (const event of events) {
        tui.event(event);
        // Only the end is printed, but it needs to have seen the rest.
        const text = human.project(event);
        if (event.kind === 'run_finished') {
          const { final_output } = event.data;
          ending = final_output === '' ? text : `${forTerminal(final_output)}\n\n${text}`;
        }
      }
    },
    async close(): Promise<void> {
      if (closed) return;
      closed = true;
      await tui.finish();
      stdin.pause();
      await io.out.write(ending);
    },
  };
}
