/** Starts the agent of a run. Its spool is described on disk first, so that recovery knows which process may be running. */
import { problem } from '../../capture/decode.ts';
import { type Drain, drainsFor } from '../../capture/source/drain.ts';
import { RUN_ID_VARIABLE } from '../../capture/source/process-tree.ts';
import { type AgentProcess, spawnAgent } from '../../capture/source/spawn.ts';
import type { Draft } from '../../model/draft.ts';
import { type Spool, writeMeta, writeStdin } from '../../store/spool/spool.ts';
import { whyOf } from './recorder.ts';
import { type RunRequest, takesInput } from './request.ts';
import { metaOf } from './spool-meta.ts';

export interface Launched {
  agent: AgentProcess;
  drains: readonly Drain[];
  started_ms: number;
  /** The same time according to the monotonic clock. */
  started_elapsed: number;
  problems: readonly Draft[];
}

/** Rejects only if no agent was started. */
export async function launch(request: RunRequest, run_id: string, spool: Spool): Promise<Launched> {
  const { plan, cwd } = request;
  const stdin_open = takesInput(request.agent, request.config);
  const in_file = plan.stdin !== null && !stdin_open;
  if (in_file) writeStdin(spool, plan.stdin as string);
  const started_ms = request.clock.now();
  const started_elapsed = request.clock.elapsed();
  const launched = {
    command: plan.command,
    args: plan.args,
    env: { ...request.env, [RUN_ID_VARIABLE]: run_id },
    cwd,
    stdin_path: in_file ? spool.stdin : null,
    stdin_open,
    stdout_path: spool.stdout,
    stderr_path: spool.stderr,
  };
  const drains = drainsFor(launched) ?? [];
  const output_fds = drains.map(({ pipe }) => pipe.fd);
  const closePipes = () => {
    for (const { pipe } of drains) pipe.close();
  };
  const noted = { request, run_id, started_ms, drains };
  let agent: AgentProcess;
  try {
    writeMeta(spool, metaOf({ ...noted, agent: null }));
    agent = spawnAgent({ ...launched, output_fds });
  } catch (error) {
    closePipes();
    throw error;
  }
  // A drain ends when the last write end of its pipe is closed.
  agent.exited.then(closePipes);
  await agent.started;
  const problems: Draft[] = [];
  try {
    writeMeta(spool, metaOf({ ...noted, agent }));
  } catch (error) {
    // The agent is already running. A recovery finds it by the mark in its environment.
    const detail = `the agent's process could not be recorded in the spool: ${whyOf(error)}`;
    problems.push(problem('store', 'spool_unusable', detail));
  }
  return { agent, drains, started_ms, started_elapsed, problems };
}
