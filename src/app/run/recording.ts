/** All parts that record a run, opened and closed together. */
import { Pipeline } from '../../capture/pipeline.ts';
import { projectOf } from '../../capture/source/project.ts';
import type { Draft } from '../../model/draft.ts';
import type { Event } from '../../model/event.ts';
import type { MeasuredRun } from '../../model/usage.ts';
import { createOutcomeFold, measuredBy } from '../../projections/outcome.ts';
import { createGate } from '../../redact/gate.ts';
import type { Catalogue } from '../../store/index/catalogue.ts';
import type { Index } from '../../store/index/index-db.ts';
import { coversOnly } from '../../store/index/memory-index.ts';
import type { Cover } from '../../store/index/position-index.ts';
import { openSecretHash } from '../../store/journal/hash.ts';
import { openJournal } from '../../store/journal/journal.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { openRedactor } from '../config/redaction.ts';
import { TranscriptWriter } from '../runs/transcript-writer.ts';
import { fingerprint } from './fingerprint.ts';
import { type EventSink, Recorder, type View, whyOf } from './recorder.ts';
import type { RunRequest } from './request.ts';

export type Recording = ReturnType<typeof openRecording>;

const OUTCOME = 'the outcome';
export const TRANSCRIPT = 'the transcript';

/** `known`: positions of sessions, for a run that is already in the journal. */
type RecordingOptions = Pick<RunRequest, 'agent' | 'env' | 'redact' | 'state_dir'> & {
  known?: { index: Index; catalogue?: Catalogue };
};

export function openRecording(options: RecordingOptions, run_id: string, views: readonly View[]) {
  const { agent, env, redact } = options;
  const state = openStateDir(options.state_dir);
  const redactor = openRedactor({ env, redact, agents: [agent], hash: openSecretHash(state) });
  const gate = createGate(redactor);
  const covers: Cover[] = [];
  const journal = openJournal(state.journal, options.known ?? { index: coversOnly(covers) });
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
  const recorder = new Recorder({ run_id, journal, gate, views: [...own, ...views] });
  const failure = (name: string) => recorder.failed.find(({ view }) => view === name);
  return {
    run_id,
    state,
    /** The index that a recovery has open, or null. */
    index: options.known?.index ?? null,
    journal,
    /** The journal's writes, for the index. Complete once the journal is closed. */
    covers,
    recorder,
    redactor,
    gate,
    /** The outcome of all events so far, and its usage. Never throws. */
    measured(): MeasuredRun {
      const failed = failure(OUTCOME);
      if (failed !== undefined) return briefly(ends, failed.why);
      try {
        return measuredBy(fold);
      } catch (error) {
        return briefly(ends, whyOf(error));
      }
    },
    /** Null if it failed; it can be rebuilt from the journal. */
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

/** An outcome from the first and the last event, which reports that the rest is missing. */
function briefly(ends: readonly Event[], why: string): MeasuredRun {
  const fold = createOutcomeFold({ keepIo: false });
  for (const event of ends) fold.push(event);
  const { outcome, usage } = measuredBy(fold);
  const gap = `gap: calls, files and warnings could not be listed: ${why}`;
  return { outcome: { ...outcome, warnings: [...outcome.warnings, gap] }, usage };
}

/** A recording, and the pipeline that produces its events. */
export interface Capture {
  recording: Recording;
  pipeline: Pipeline;
}

/** Records tacho's own notes about the run. */
export const note = ({ recording, pipeline }: Capture, draft: Draft) =>
  recording.recorder.take(pipeline.draft(draft, null));

type PipelineRequest = Pick<RunRequest, 'agent' | 'prompt' | 'cwd' | 'config' | 'clock'> & {
  started_ms: number;
};

export function pipelineOf(request: PipelineRequest, { run_id, gate }: Recording): Pipeline {
  const { agent, prompt, cwd, config, clock, started_ms } = request;
  return new Pipeline({
    agent,
    primary: 'stdout',
    now: clock.now,
    elapsed: clock.elapsed,
    gate,
    info: {
      run_id,
      agent: agent.id,
      cwd,
      project: projectOf(cwd),
      prompt,
      config,
      started_ms,
      model: config.model,
      session_id: null,
      fingerprint: (session) => fingerprint({ config, prompt, ...session }),
    },
  });
}
