/** What is known of a run beside its records. */
import type { Project, RunConfig } from '../model/parts.ts';

export interface RunInfo {
  run_id: string;
  agent: string;
  cwd: string | null;
  /** Absent in a recording: its folder is not looked into. */
  project?: Project;
  prompt: string | null;
  config: RunConfig | null;
  /** When the agent was started; null when only its stream can tell. */
  started_ms: number | null;
  /** A recording holds no later times: such are unknown. Absent: any time is believed, or a clock bounds it. */
  latest_ms?: number;
  /** The model asked for, until the agent says which one it uses. */
  model: string | null;
  session_id: string | null;
  /** Over behaviour only (RE-18); given what the agent said of itself. */
  fingerprint(session: {
    agent_version: string | null;
    model: string | null;
    tools: string[] | null;
  }): string | null;
}

/** A run that is read from a recording: what is not known here, its records say. */
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
