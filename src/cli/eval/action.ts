/** The action of `tacho eval`: reads the files, grades, prints, and turns the result into an exit code. */
import type { EvalResult } from '../../app/evals/eval.ts';
import {
  checkRuns,
  evaluate,
  loadEvals,
  optionsOfTest,
  SHARED_FOLDER,
} from '../../app/evals/evaluate.ts';
import { checkInput } from '../../app/evals/files.ts';
import type { Graded } from '../../app/evals/jobs.ts';
import { type OnlyTests, onlyTests, selectedOf } from '../../app/evals/only-tests.ts';
import { startResults } from '../../app/evals/results.ts';
import {
  type OnProblem,
  type Subject,
  transcriptsIn,
  transcriptsOfRuns,
} from '../../app/evals/subjects.ts';
import { sendingTo } from '../../app/live/destination.ts';
import { type FinishLeft, startLeft } from '../../app/run/sweep.ts';
import type { EvalFile } from '../../evals/types.ts';
import { TachoError } from '../../lib/errors.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import { resolveStateDir } from '../../store/state-dir.ts';
import { actingOf } from '../acting.ts';
import type { Io } from '../command.ts';
import { type AgentRunFlags, agentRunOptions, sayOfLive } from '../run-options.ts';
import { catchSignals } from '../signals.ts';
import { runsOf } from '../state.ts';
import { type OutputFlags, writeResult } from './output.ts';
import { createProgress } from './progress.ts';
import { listTests } from './select.ts';
import { createRowText } from './text.ts';

export interface EvalFlags extends AgentRunFlags, OutputFlags {
  agent?: string;
  target?: string;
  transcript?: string[];
  each?: true;
  run?: string[];
  threshold?: number;
  results?: string;
  resume?: string;
  workers?: number;
  repeat?: number;
  failFast?: true;
  verbose?: true;
  test?: string[];
  list?: true;
  trust?: true;
}

interface EvalInput {
  files: string[];
  flags: EvalFlags;
  io: Io;
}

const EXIT_CANCELLED = 130;
const GRADINGS_AT_ONCE = 4;

const usage = (text: string) => new TachoError('usage', text, { stage: 'eval' });

function checkFlags({ files, flags }: EvalInput): void {
  if (files.length === 0) throw usage('name at least one eval file');
  const given = [flags.target, flags.agent, flags.transcript, flags.run];
  if (given.filter((flag) => flag !== undefined).length > 1)
    throw usage('give one of --target, --agent, --transcript and --run');
  if (flags.each && flags.transcript === undefined && flags.run === undefined)
    throw usage('--each goes with --transcript or --run');
  const of_runs = Object.values(agentRunOptions(flags)).some((value) => value !== undefined);
  if (of_runs && (flags.transcript ?? flags.run) !== undefined)
    throw usage('--transcript and --run grade what is recorded: leave out the flags for new runs');
  for (const path of flags.transcript ?? []) checkInput(path);
}

function gradedOf(input: EvalInput): Graded {
  const { flags, io } = input;
  const { transcript, run, agent, target, each = false } = flags;
  if (transcript !== undefined || run !== undefined)
    return { kind: 'transcripts', each, subjects: (problem) => subjectsOf(input, problem) };
  const asked = { ...agentRunOptions(flags), agent, target, stateDir: io.state_flag };
  const acting = actingOf(flags.trust, io);
  return { kind: 'runs', options: (test) => optionsOfTest(test, asked, acting) };
}

async function* subjectsOf({ flags, io }: EvalInput, problem: OnProblem): AsyncGenerator<Subject> {
  for (const path of flags.transcript ?? []) yield* transcriptsIn(path, problem);
  if (flags.run === undefined) return;
  const state = await runsOf(io);
  yield* transcriptsOfRuns(state, flags.run, problem);
}

export async function evalCommand(input: EvalInput): Promise<number> {
  const { flags, io } = input;
  checkFlags(input);
  const sources = input.files.map((path) => ({ path }));
  const acting = actingOf(flags.trust, io);
  const files = await loadEvals(sources, io.env, acting, { only_read: flags.list });
  const only = onlyTests(files, flags.test);
  if (flags.list) return listTests(files, only, input);
  using results = startResults(flags);
  // A signal ends the eval cleanly: running agents are ended, and finished gradings are kept.
  const stop = new AbortController();
  const release = catchSignals(() => stop.abort());
  const started = performance.now();
  try {
    const result = await graded(input, results, { files, only, signal: stop.signal });
    const took_ms = performance.now() - started;
    await writeResult(result, { files, took_ms }, flags, io);
    return stop.signal.aborted ? EXIT_CANCELLED : result.report.exit_code;
  } finally {
    release();
  }
}

/** Prepares for the first run of an agent. Returns the work to do after the last one. */
async function startAgentRuns({ flags, io }: EvalInput): Promise<FinishLeft> {
  const { live } = agentRunOptions(flags);
  const state_dir = resolveStateDir({ flag: io.state_flag, env: io.env });
  const target = live == null ? null : await sendingTo(live, state_dir);
  if (target !== null) {
    const { warnInsecure } = await import('../insecure.ts');
    await warnInsecure(target.url, io);
  }
  return startLeft(state_dir, { ...actingOf(flags.trust, io), target });
}

async function graded(
  input: EvalInput,
  results: ReturnType<typeof startResults>,
  work: { files: EvalFile[]; only: OnlyTests; signal: AbortSignal },
): Promise<EvalResult> {
  const { flags, io } = input;
  const selected = selectedOf(work.files, work.only);
  const graded = gradedOf(input);
  const runs_agents = graded.kind === 'runs';
  const human = flags.output === 'human';
  const { workers } = flags;
  if (runs_agents && checkRuns(selected, { workers, env: io.env }) && human)
    void io.err.write(`${SHARED_FOLDER}\n`);
  const finishLeft = runs_agents ? await startAgentRuns(input) : null;
  const runs = selected.flatMap(({ tests }) =>
    tests.map(({ repeat }) => flags.repeat ?? repeat.count),
  );
  const total = runs_agents ? runs.reduce((sum, count) => sum + count, 0) : null;
  const progress = createProgress(io, total);
  const rowText = createRowText(io, selected, {
    verbose: flags.verbose ?? false,
    repeat: flags.repeat ?? null,
  });
  try {
    return await evaluate({
      ...work,
      graded,
      env: io.env,
      state_dir: io.state_flag,
      before: results.before,
      threshold: flags.threshold ?? null,
      repeat: flags.repeat ?? null,
      workers: flags.workers ?? (runs_agents ? 1 : GRADINGS_AT_ONCE),
      fail_fast: flags.failFast ?? false,
      onStart: (name) => progress.start(name),
      onRow(row, name) {
        results.add(row);
        progress.end(name);
        if (human) progress.print(rowText(row, name));
      },
      onProblem: (say) => void io.err.write(`error: ${forTerminal(say)}\n`),
      onLive: sayOfLive(io),
    });
  } finally {
    progress.close();
    await finishLeft?.((text) => io.err.write(text));
  }
}
