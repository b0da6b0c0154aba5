/** Everything a run is recorded with, opened together and closed together. */
import { createPipeline, type Pipeline } from '../../capture/pipeline.ts';
import type { Agent } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import { createOutcomeFold } from '../../projections/outcome.ts';
import { draftRedaction } from '../../redact/event.ts';
import type { Redactor } from '../../redact/redact.ts';
import { type Cover, coversOnly } from '../../store/index/catalogue.ts';
import type { Index } from '../../store/index/index-db.ts';
import { openSecretHash } from '../../store/journal/hash.ts';
import { type Journal, openJournal } from '../../store/journal/journal.ts';
import { openStateDir, type StateDir } from '../../store/state-dir.ts';
import { openRedactor } from '../config/redaction.ts';
import { TranscriptWriter } from '../runs/transcript-writer.ts';
import { fingerprint } from './fingerprint.ts';
import { createRecorder, type EventSink, type Recorder, type View, whyOf } from './recorder.ts';
import type { RunRequest } from './request.ts';

export interface Desk {
  run_id: string;
  state: StateDir;
  journal: Journal;
  /** What the journal wrote, for the index; complete once it is closed. */
  covers: readonly Cover[];
  recorder: Recorder;
  redactor: Redactor;
  /** The outcome of all events so far. Never throws. */
  outcome(): RunOutcome;
  /** Null: it failed; the journal can make it again. */
  transcript(): TranscriptWriter | null;
  close(): Promise<void>;
}

const OUTCOME = 'the outcome';
export const TRANSCRIPT = 'the transcript';

interface DeskOptions {
  agent: Agent;
  env: Record<string, string | undefined>;
  redact: readonly string[];
  state_dir: string;
  /** Where sessions lie, for a run that is in the journal already. */
  index?: Index;
}

function redactorFor(state: StateDir, options: Omit<DeskOptions, 'state_dir'>): Redactor {
  const { env, redact, agent } = options;
  return openRedactor({ env, redact, agents: [agent], hash: openSecretHash(state) });
}

export function openDesk(options: DeskOptions, run_id: string, views: readonly View[]): Desk {
  const state = openStateDir(options.state_dir);
  const redactor = redactorFor(state, options);
  const covers: Cover[] = [];
  const journal = openJournal(state.journal, { index: options.index ?? coversOnly(covers) });
  const transcript = new TranscriptWriter({ tmp: state.tmp });
  const fold = createOutcomeFold({ keepIo: false });
  /** Enough for an outcome without details. */
  const ends: Event[] = [];
  const own: View[] = [
    {
      name: 'the ends of the run',
      take: each((event) => {
        if (event.kind === 'run_started' || event.kind === 'run_finished') ends.push(event);
      }),
    },
    { name: OUTCOME, take: each((event) => fold.push(event)) },
    { name: TRANSCRIPT, take: each((event) => transcript.push(event)) },
  ];
  const recorder = createRecorder({ run_id, journal, redactor, views: [...own, ...views] });
  const failure = (name: string) => recorder.failed.find(({ view }) => view === name);

  function outcome(): RunOutcome {
    const failed = failure(OUTCOME);
    if (failed !== undefined) return briefOutcome(ends, failed.why);
    try {
      return fold.finish();
    } catch (error) {
      return briefOutcome(ends, whyOf(error));
    }
  }

  return {
    run_id,
    state,
    journal,
    covers,
    recorder,
    redactor,
    outcome,
    transcript: () => (failure(TRANSCRIPT) === undefined ? transcript : null),
    close() {
      transcript.close();
      return journal.close();
    },
  };
}

const each =
  (push: (event: Event) => void): EventSink =>
  (events) => {
    for (const event of events) push(event);
  };

/** What the first and the last event say, and that the rest is missing. */
function briefOutcome(ends: readonly Event[], why: string): RunOutcome {
  const fold = createOutcomeFold({ keepIo: false });
  for (const event of ends) fold.push(event);
  const outcome = fold.finish();
  const gap = `gap: calls, files and warnings could not be listed: ${why}`;
  return { ...outcome, warnings: [...outcome.warnings, gap] };
}

type PipelineRequest = Pick<RunRequest, 'agent' | 'prompt' | 'cwd' | 'config' | 'clock'> & {
  started_ms: number;
};

export function pipelineOf(request: PipelineRequest, { run_id, redactor }: Desk): Pipeline {
  const { agent, prompt, cwd, config, clock, started_ms } = request;
  return createPipeline({
    agent,
    primary: 'stdout',
    now: clock.now,
    elapsed: clock.elapsed,
    ...draftRedaction(redactor),
    info: {
      run_id,
      agent: agent.id,
      cwd,
      prompt,
      config,
      started_ms,
      model: config.model,
      session_id: null,
      fingerprint: (session) => fingerprint({ config, prompt, ...session }),
    },
  });
}
