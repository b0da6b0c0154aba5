/** What `tacho show` does. */
import { existsSync } from 'node:fs';
import { readTranscripts, type Shown, shownFile, showRun } from '../../app/runs/show.ts';
import { createColours } from '../../lib/colours.ts';
import { transcriptText } from '../../projections/transcript-text.ts';
import type { Io } from '../command.ts';
import { runsOf } from '../state.ts';
import { openPager, plainOutput } from './pager.ts';

export interface ShowFlags {
  last?: true;
  full?: true;
  thinking?: true;
  tool?: string;
  json?: true;
  pager: boolean;
}

export async function show(run: string, flags: ShowFlags, io: Io): Promise<void> {
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
    // A file needs no state folder.
    if (!existsSync(run)) await showRun(await runsOf(io), run, print);
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
  const style = { colour: createColours(io.colour), unicode: io.unicode, width: io.width };
  const { full = false, thinking = false, tool = null } = flags;
  return transcriptText(view, { ...style, full, thinking, tool });
}
