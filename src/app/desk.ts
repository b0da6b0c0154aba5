/** Everything a run is recorded with, opened together and closed together. */
import type { Agent } from '../model/agent.ts';
import { createOutcomeFold, type OutcomeFold } from '../projections/outcome.ts';
import { type Cover, coversOnly } from '../store/catalogue.ts';
import { openSecretHash } from '../store/hash.ts';
import type { Index } from '../store/index-db.ts';
import { type Journal, openJournal } from '../store/journal.ts';
import type { Redactor } from '../store/redact.ts';
import { openStateDir, type StateDir } from '../store/state-dir.ts';
import { createRecorder, type EventSink, type Recorder } from './recorder.ts';
import { openRedactor } from './redaction.ts';
import { createTranscriptWriter, type TranscriptWriter } from './transcript-writer.ts';

export interface Desk {
  run_id: string;
  state: StateDir;
  journal: Journal;
  /** What the journal wrote, for the index; complete once it is closed. */
  covers: readonly Cover[];
  recorder: Recorder;
  redactor: Redactor;
  fold: OutcomeFold;
  transcript: TranscriptWriter;
  close(): Promise<void>;
}

export interface DeskOptions {
  agent: Agent;
  env: Record<string, string | undefined>;
  redact: readonly string[];
  state_dir: string;
  /** Where sessions lie, for a run that is in the journal already. */
  index?: Index;
}

export function redactorFor(state: StateDir, options: Omit<DeskOptions, 'state_dir'>): Redactor {
  const { env, redact, agent } = options;
  return openRedactor({ env, redact, agents: [agent], hash: openSecretHash(state) });
}

export function openDesk(options: DeskOptions, run_id: string, sinks: readonly EventSink[]): Desk {
  const state = openStateDir(options.state_dir);
  const redactor = redactorFor(state, options);
  const covers: Cover[] = [];
  const journal = openJournal(state.journal, { index: options.index ?? coversOnly(covers) });
  const fold = createOutcomeFold({ keepIo: false });
  const transcript = createTranscriptWriter();
  const keep: EventSink = (events) => {
    for (const event of events) {
      fold.push(event);
      transcript.push(event);
    }
  };
  const recorder = createRecorder({ run_id, journal, redactor, sinks: [keep, ...sinks] });
  const close = () => {
    transcript.close();
    return journal.close();
  };
  return { run_id, state, journal, covers, recorder, redactor, fold, transcript, close };
}
