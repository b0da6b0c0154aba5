/** The action of `tacho eval`: reads the files, grades, prints, and turns the result into an exit code. */
import { existsSync } from 'node:fs';
import { type Asking, needConsent } from '../../app/config/consent.ts';
import { passingRedactor } from '../../app/config/redaction.ts';
import { type EvalResult, runEval } from '../../app/evals/eval.ts';
import { checkInput, type LoadedEval, loadEvalFile } from '../../app/evals/files.ts';
import type { Graded } from '../../app/evals/jobs.ts';
import { redactedRow, redactedSubjects, redactedTools } from '../../app/evals/redaction.ts';
import { openResults, type ResultsFile, readResults } from '../../app/evals/results.ts';
import {
  type OnProblem,
  type Subject,
  transcriptsIn,
  transcriptsOfRuns,
} from '../../app/evals/subjects.ts';
import { openTools } from '../../app/evals/tools.ts';
import { sendingTo } from '../../app/live/destination.ts';
import { type FinishLeft, startLeft } from '../../app/run/sweep.ts';
import { withTarget } from '../../app/run/with-target.ts';
import type { EvalRow } from '../../evals/results.ts';
import type { EvalFile, EvalTest } from '../../evals/types.ts';
import { TachoError } from '../../lib/errors.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import { EVAL_TEST_LABEL } from '../../model/words.ts';
import type { Redactor } from '../../redact/gate.ts';
import { resolveStateDir } from '../../store/state-dir.ts';
import { actingOf } from '../acting.ts';
import type { Io } from '../command.ts';
import { type AgentRunFlags, agentRunOptions, sayOfLive } from '../run-options.ts';
import { catchSignals } from '../signals.ts';
import { runsOf } from '../state.ts';
import { checkRuns } from './before-runs.ts';
import { type OutputFlags, writeResult } from './output.ts';
import { createProgress } from './progress.ts';
import { listTests, type OnlyTests, onlyTests } from './select.ts';
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
  if (flags.results !== undefined && flags.resume !== undefined && flags.results !== flags.resume)
    throw usage('--resume adds to its own file: leave out --results');
  for (const path of flags.transcript ?? []) checkInput(path);
}

function gradedOf(input: EvalInput, redactor: Redactor): Graded {
  const { transcript, run, each = false } = input.flags;
  if (transcript === undefined && run === undefined)
    return { kind: 'runs', options: (test) => optionsOf(input, test) };
  const subjects = (problem: OnProblem) => redactedSubjects(subjectsOf(input, problem), redactor);
  return { kind: 'transcripts', each, subjects };
}

async function* subjectsOf({ flags, io }: EvalInput, problem: OnProblem): AsyncGenerator<Subject> {
  for (const path of flags.transcript ?? []) yield* transcriptsIn(path, problem);
  if (flags.run === undefined) return;
  const state = await runsOf(io);
  yield* transcriptsOfRuns(state, flags.run, problem);
}

/** The same options as for `tacho run --target`. */
async function optionsOf({ flags, io }: EvalInput, test: EvalTest) {
  const prompt = test.input.map(({ content }) => content).join('\n\n');
  const { agent } = flags;
  const asked = {
    ...agentRunOptions(flags),
    agent,
    target: agent === undefined ? (flags.target ?? test.target ?? undefined) : undefined,
    prompt,
    timeoutMs: test.timeout_ms ?? undefined,
    labels: { [EVAL_TEST_LABEL]: test.id },
    stateDir: io.state_flag,
    outputMode: 'json' as const,
  };
  return withTarget(asked, actingOf(flags.trust, io));
}

async function loadAll({ files, flags, io }: EvalInput): Promise<EvalFile[]> {
  const consenting = actingOf(flags.trust, io);
  const agree = (asking: Asking) => needConsent(asking, consenting);
  const loaded: LoadedEval[] = [];
  const mistakes: string[] = [];
  for (const path of files) {
    try {
      loaded.push(await loadEvalFile(path, io.env, agree));
    } catch (error) {
      if (!(error instanceof TachoError)) throw error;
      mistakes.push(error.message);
    }
  }
  if (mistakes.length > 0)
    throw new TachoError('config_invalid', mistakes.join('\n'), { stage: 'eval' });
  if (!flags.list) for (const { asking } of loaded) agree(asking);
  for (const { file } of loaded)
    for (const note of file.notes) await io.err.write(`note: ${note}\n`);
  return loaded.map(({ file }) => file);
}

export async function evalCommand(input: EvalInput): Promise<number> {
  const { flags } = input;
  checkFlags(input);
  const files = await loadAll(input);
  const only = onlyTests(files, flags.test);
  if (flags.list) return listTests(files, only, input);
  const path = flags.resume ?? flags.results;
  const again = flags.resume !== undefined && existsSync(flags.resume);
  const before = again ? readResults(flags.resume as string) : [];
  const results = path === undefined ? null : openResults(path, again);
  // A signal ends the eval cleanly: running agents are ended, and finished gradings are kept.
  const stop = new AbortController();
  const release = catchSignals(() => stop.abort());
  const started = performance.now();
  try {
    const result = await evaluate(input, results, { files, only, before, signal: stop.signal });
    const took_ms = performance.now() - started;
    await writeResult(result, { files, took_ms }, flags, input.io);
    return stop.signal.aborted ? EXIT_CANCELLED : result.report.exit_code;
  } finally {
    release();
    results?.close();
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

async function evaluate(
  input: EvalInput,
  results: ResultsFile | null,
  work: { files: EvalFile[]; only: OnlyTests; before: EvalRow[]; signal: AbortSignal },
): Promise<EvalResult> {
  const { flags, io } = input;
  const redactor = await passingRedactor(io.env, { state_dir: io.state_flag });
  const graded = gradedOf(input, redactor);
  const runs_agents = graded.kind === 'runs';
  const { files, only } = work;
  const selected = files.map((file) => ({
    ...file,
    tests: file.tests.filter(({ id }) => only(id)),
  }));
  if (runs_agents) checkRuns(selected, input);
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
  const human = flags.output === 'human';
  const tools = redactedTools(openTools(io.env), redactor);
  try {
    return await runEval({
      ...work,
      graded,
      tools,
      threshold: flags.threshold ?? null,
      repeat: flags.repeat ?? null,
      workers: flags.workers ?? (runs_agents ? 1 : GRADINGS_AT_ONCE),
      fail_fast: flags.failFast ?? false,
      redacted: (row) => redactedRow(row, redactor),
      onStart: (name) => progress.start(name),
      onRow(row, name) {
        results?.add(row);
        progress.end(name);
        if (human) progress.print(rowText(row, name));
      },
      onProblem: (say) => void io.err.write(`error: ${forTerminal(redactor.text(say))}\n`),
      onLive: sayOfLive(io),
    });
  } finally {
    progress.close();
    await finishLeft?.((text) => io.err.write(text));
    await tools.close();
  }
}
