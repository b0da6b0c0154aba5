/** The live view as a sink: full-screen while the run goes on, the summary on the normal screen after it. */
import pc from 'picocolors';
import type { EventSink } from '../../app/run/recorder.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import type { Event } from '../../model/event.ts';
import { createHumanProjection } from '../../projections/human.ts';
import { createTui } from '../../tui/tui.ts';
import type { Io } from '../command.ts';

interface TuiView {
  sink: EventSink;
  close(): Promise<void>;
}

export function createTuiView(
  io: Io,
  options: { agent: string; cwd: string; onInterrupt: () => void },
): TuiView {
  const { unicode, width, colour } = io;
  const tui = createTui({
    stdout: process.stdout,
    stdin: process.stdin,
    agent: options.agent,
    onInterrupt: options.onInterrupt,
    colour,
    unicode,
  });
  const human = createHumanProjection({
    colour: pc.createColors(colour),
    unicode,
    width,
    stream: false,
    cwd: options.cwd,
  });
  let ending = '';
  let closed = false;
  return {
    sink(events: readonly Event[]) {
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
    async close() {
      if (closed) return;
      closed = true;
      await tui.finish();
      process.stdin.pause();
      await io.out.write(ending);
    },
  };
}
