/** Records messages of an agent's SDK like a run: the same decoder, journal and outcome, without a process. */
import { NO_LIMITS } from '../../capture/budget.ts';
import { newRunId } from '../../lib/ids.ts';
import { runnable } from '../config/agent-of.ts';
import { closeRun, type RunResult } from './close-run.ts';
import type { RecordOptions } from './options.ts';
import type { View } from './recorder.ts';
import { note, openRecording, pipelineOf } from './recording.ts';
import { clockOf, prepareRecord, randomOf } from './request.ts';
import type { RunControl } from './run.ts';
import { refused } from './run-input.ts';

const elsewhere = () => refused('closed', 'the run is only recorded here, not controlled');

/** Accepts the messages one by one and waits for the journal. After `abort`, no further message is read. */
export function startRecord(given: RecordOptions, views: readonly View[]): RunControl {
  let cause: string | null = null;
  const { clock = clockOf(process.env), random = randomOf(process.env) } = given;
  const options = { ...given, clock, random };
  const run_id = newRunId(clock.now(), random);

  async function record(): Promise<RunResult> {
    const request = await prepareRecord(options, run_id);
    runnable(request.agent);
    const started_ms = request.clock.now();
    const started_elapsed = request.clock.elapsed();
    const recording = openRecording(request, run_id, views);
    recording.journal.begin(recording.run_id);
    const pipeline = pipelineOf({ ...request, started_ms }, recording);
    let line = 0;
    try {
      for await (const message of given.messages) {
        line += 1;
        const raw = { channel: 'stdout' as const, line, offset: line };
        await recording.recorder.take(pipeline.record(message, raw));
        if (cause !== null) break;
      }
    } catch (error) {
      const end = { exit_reason: 'agent_error', evidence: 'none' } as const;
      const data = { ...end, error: String(error) };
      await note({ recording, pipeline }, { kind: 'agent_ended', data });
    }
    const elapsed_ms = () => request.clock.elapsed() - started_elapsed;
    const run = { request, recording, pipeline, cause, started_ms, elapsed_ms };
    const nothing = { spool: null, exit: null, left: [], before: null, limit: null };
    return closeRun({ ...run, ...nothing, limits: NO_LIMITS, meter: null });
  }

  return {
    run_id,
    result: record(),
    input: { say: elsewhere, interrupt: elsewhere, confirm: elsewhere },
    abort(why) {
      cause ??= why;
    },
  };
}
