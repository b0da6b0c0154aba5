/** What `tacho show` does. */
import { existsSync } from 'node:fs';
import pc from 'picocolors';
import { readTranscripts, type Shown, shownFile, showRun } from '../../app/runs/show.ts';
import { transcriptText } from '../../projections/transcript-text.ts';
import type { StateDir } from '../../store/state-dir.ts';
import type { Io } from '../command.ts';
import { openPager, plainOutput } from './pager.ts';

export interface ShowFlags {
  last?: true;
  full?: true;
  thinking?: true;
  tool?: string;
  json?: true;
  pager: boolean;
}

interface ShowPlace {
  io: Io;
  /** Opened only for a run: a file needs no state folder. */
  state: () => Promise<StateDir>;
}

export async function show(run: string, flags: ShowFlags, { io, state }: ShowPlace): Promise<void> {
  const paged = flags.pager && !flags.json && io.out_is_terminal;
  const out = paged ? openPager(io) : plainOutput(io);
  const print = async (shown: Shown) => {
    if (flags.json) {
      for (const piece of shown.json()) if (!io.out.gone) await io.out.json(piece);
      return;
    }
    for (const piece of textOf(shown, flags, io)) {
      if (out.gone()) return;
      await out.write(piece);
    }
  };
  try {
    if (!existsSync(run)) await showRun(await state(), run, print);
    else
      for await (const transcript of readTranscripts(run)) {
        if (out.gone()) return;
        await print(shownFile(transcript));
      }
  } finally {
    await out.close();
  }
}

function textOf({ view }: Shown, flags: ShowFlags, io: Io): Iterable<string> {
  const { unicode, width } = io;
  return transcriptText(view, {
    colour: pc.createColors(io.colour),
    unicode,
    width,
    full: flags.full ?? false,
    thinking: flags.thinking ?? false,
    tool: flags.tool ?? null,
  });
}
