/**
 * Drafts: the decoded form of one native record, before names are canonical and calls are paired.
 * Contract: a draft contains only what its record says. `call_id` is the agent's own id; tool names are native;
 * the correlator adds step, sequence, duration and the tool's name on later events, and closes calls that never ended.
 */
import type { DataOf } from './event.ts';
import type { CallStatus } from './words.ts';

/** The agent's time of the record in epoch ms; absent if the record has none. */
interface Timed {
  at_ms?: number | undefined;
}

export interface CallRequestedDraft {
  call_id: string;
  native_tool: string;
  input: unknown;
  parent_call_id: string | null;
  /** Set if the agent names server and tool separately instead of using an `mcp__` name. */
  mcp?: { server: string; tool: string };
  /** The name to look up in the tool table, if the native name is too generic. */
  looked_up_as?: string;
  /** The canonical tool if the input decides it: a patch that only adds files is a Write. Default: from the table. */
  tool?: string;
}

export interface CallFinishedDraft {
  call_id: string;
  status: CallStatus;
  exit_code: number | null;
  output: string | null;
  /** Set if the agent measures it; otherwise the correlator computes it. */
  duration_ms?: number | null;
  /** Set if the finish record is the first to name the tool. */
  native_tool?: string;
}

/** Kinds with draft data that differ from the event data. */
interface DraftDataOverrides {
  call_requested: CallRequestedDraft;
  call_decided: Omit<DataOf<'call_decided'>, 'tool'>;
  call_started: { call_id: string };
  call_progress: Omit<DataOf<'call_progress'>, 'tool'>;
  call_finished: CallFinishedDraft;
  call_updated: Omit<DataOf<'call_updated'>, 'tool'>;
  call_retried: Omit<DataOf<'call_retried'>, 'tool'>;
  step_started: Omit<DataOf<'step_started'>, 'step_index'>;
}

/** Kinds that only the correlator or the runner creates. */
type OwnKinds = 'run_started' | 'run_finished' | 'process_exited';
type DraftKinds = Exclude<keyof typeof import('./event.ts').EventData, OwnKinds>;

export type DraftOf<K extends DraftKinds> = Timed & {
  kind: K;
  data: K extends keyof DraftDataOverrides ? DraftDataOverrides[K] : DataOf<K>;
};
export type Draft = { [K in DraftKinds]: DraftOf<K> }[DraftKinds];
