/** Facts about a run that are not in its records. */
import type { Project, RunConfig } from '../model/parts.ts';

export interface RunInfo {
  run_id: string;
  agent: string;
  cwd: string | null;
  /** Absent in a recording: its folder is not inspected. */
  project?: Project;
  prompt: string | null;
  config: RunConfig | null;
  /** When the agent was started. Null if only its stream contains it. */
  started_ms: number | null;
  /**
   * The latest possible time in a recording; later ones are unknown. Absent if any time is accepted or a clock limits
   * it.
   */
  latest_ms?: number;
  /** The requested model, until the agent reports the one it uses. */
  model: string | null;
  session_id: string | null;
  /** Covers only behaviour (RE-18), including the agent's facts about itself. */
  fingerprint(session: {
    agent_version: string | null;
    model: string | null;
    tools: string[] | null;
  }): string | null;
}

/** A run that is read from a recording: its records supply the facts that are unknown here. */
export function recordedRun(run_id: string, agent: string, known: Partial<RunInfo> = {}): RunInfo {
  return {
    run_id,
    agent,
    cwd: null,
    prompt: null,
    config: null,
    started_ms: null,
    model: null,
    session_id: null,
    fingerprint: () => null,
    ...known,
  };
}
