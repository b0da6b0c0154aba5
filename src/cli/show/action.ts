/** The action of `tacho show`. */
import { existsSync } from 'node:fs';
import {
  placeOfEvent,
  readTranscripts,
  type Shown,
  shownFile,
  showRun,
} from '../../app/runs/show.ts';
import { TachoError } from '../../lib/errors.ts';
import { headText } from '../../projections/outcome-text.ts';
import { headOfOutcome, headOfTranscript } from '../../projections/run-head.ts';
import type { TranscriptView } from '../../projections/transcript.ts';
import { transcriptText } from '../../projections/transcript-text.ts';
import type { StateDir } from '../../store/state-dir.ts';
import type { Io } from '../command.ts';
import { runsOf } from '../state.ts';
import { styleOf } from '../style.ts';
import { printSummary } from '../summary.ts';
import { openPager, plainOutput } from './pager.ts';

export interface ShowFlags {
  last?: true;
  at?: string;
  summary?: true;
  full?: true;
  thinking?: true;
  tool?: string;
  json?: true;
  pager: boolean;
}

/** The first message to show: of a step, or with a call. */
type Place = { step: number } | { call: string };

export async function show(run: string, flags: ShowFlags, io: Io): Promise<void> {
  // A file needs no state folder.
  const state = existsSync(run) ? null : await runsOf(io);
  if (state !== null && flags.summary) return printSummary(state, run, flags, io);
  const paged = flags.pager && !flags.json && !flags.summary && io.out_is_terminal;
  const out = paged ? openPager(io) : plainOutput(io);
  const print = async (shown: Shown) => {
    if (flags.json) {
      for (const piece of shown.json()) if (!io.out.gone) await io.out.json(piece);
      return;
    }
    const place = flags.at === undefined ? null : await placeOf(flags.at, shown, state);
    for (const piece of textOf(shown, place, flags, io)) {
      if (out.gone()) return;
      await out.write(piece);
    }
  };
  try {
    if (state !== null) await showRun(state, run, print);
    else
      for await (const transcript of readTranscripts(run)) {
        if (out.gone()) return;
        await print(shownFile(transcript));
      }
  } finally {
    await out.close();
  }
}

function textOf(
  { view, outcome, unfinished }: Shown,
  place: Place | null,
  flags: ShowFlags,
  io: Io,
): Iterable<string> {
  const style = styleOf(io);
  const head = outcome === null ? headOfTranscript(view) : headOfOutcome(outcome);
  if (flags.summary) return [headText(head, style, { unfinished })];
  const { full = false, thinking = false, tool = null } = flags;
  const from = place === null ? 0 : messageAt(view, place);
  return transcriptText(view, head, { ...style, full, thinking, tool, from, unfinished });
}

const SEQ = /^seq:(\d+)$/;

async function placeOf(at: string, { view }: Shown, state: StateDir | null): Promise<Place> {
  if (/^\d+$/.test(at)) return { step: Number(at) };
  const [, seq] = SEQ.exec(at) ?? [];
  if (seq === undefined) return { call: at };
  if (state === null) throw usage('--at seq:N needs a recorded run: a transcript has no events');
  const found = await placeOfEvent(state, view.facts.run_id, Number(seq));
  if (found === null) throw usage(`--at ${at}: the run has no event with this number`);
  return found;
}

function messageAt(view: TranscriptView, place: Place): number {
  for (let index = 0; index < view.count; index++) {
    const { step, tool_calls, parent_tool_call_id: parent } = view.at(index);
    if ('call' in place && tool_calls.some(({ id }) => id.startsWith(place.call))) return index;
    if ('step' in place && parent === null && step !== null && step >= place.step) return index;
  }
  const { steps } = view.facts;
  throw usage(
    'step' in place
      ? `--at ${place.step}: the run has ${steps} steps`
      : `--at ${place.call}: no call of the run has an id with this prefix; --json lists the ids`,
  );
}

const usage = (text: string) => new TachoError('usage', text, { stage: 'show' });
