/** The request to import a session, and its result. */
import type { Agent } from '../../model/agent.ts';

export interface ImportTarget {
  agent: Agent;
  /** The main file. */
  path: string;
  /** Requested by file name or session id: imported even if it was deleted, or the settings exclude it. */
  by_name: boolean;
  /** The state of the main file, as a watcher saw it. */
  stamp?: string;
}

/** The result for a session file. */
export interface Imported {
  /** `failed` has the reason in `why`; `deleted`: the user deleted its run; `empty`: it has no conversation. */
  state:
    | 'imported'
    /** Its run was stored before, and has new events now. */
    | 'grown'
    /** Its run has all of it already. */
    | 'known'
    /** Tacho recorded the session itself, and nothing was added since. */
    | 'recorded'
    /** A fork without any content of its own yet. */
    | 'shared'
    /** A later state of the session is already stored. */
    | 'older'
    | 'deleted'
    /** The user excluded it. */
    | 'excluded'
    | 'empty'
    | 'failed';
  /** Id of the agent. */
  agent: string;
  /** Path of the session file. */
  path: string;
  /** Id of the session; null if unknown. */
  session_id: string | null;
  /** The run that contains the session now. */
  run_id: string | null;
  /** When the session began, in milliseconds since 1970, if it was imported now. Null if unknown. */
  started_ms: number | null;
  /** First prompt of the session, if it was imported now. Null if unknown. */
  prompt: string | null;
  /** The path of its project, likewise. */
  project: string | null;
  /** Imports of earlier states of the session, which were removed. */
  replaced: string[];
  /** The failure, with the file, or null. */
  why: string | null;
  /** Set if the failure may pass although the file does not change. */
  may_pass?: true;
}

/** Restrictions of what is stored. */
export interface Privacy {
  /** Whether the session may be stored at all, unless it was requested by name. */
  includes(session: { session_file: string; cwd: string | null }): boolean;
  metadata_only: boolean;
}
