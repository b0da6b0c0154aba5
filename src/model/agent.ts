/** The interface between an agent's folder and the rest of tacho. It contains nothing about a particular agent. */
import type { Draft } from './draft.ts';
import type { Event } from './event.ts';
import type { Usage } from './parts.ts';
import type { ApproveMode } from './words.ts';

/**
 * When a fact about a run is known (AG-17). live: while the agent works. end: on its stdout, but only when its work is done.
 * after: from its session file. never: the agent does not report it.
 */
export type KnownWhen = 'live' | 'end' | 'after' | 'never';
export const CAPABILITY_NAMES = [
  'steps',
  'text',
  'text_deltas',
  'thinking',
  'call_requests',
  'call_results',
  'call_starts',
  'exit_codes',
  'decisions',
  'denials',
  'sub_agents',
  'skills',
  'usage',
  'cost',
  'provider_retries',
  'end_record',
  'model',
  'session_id',
] as const;
/** When each kind of fact about a run is known. */
export type Capabilities = Readonly<Record<(typeof CAPABILITY_NAMES)[number], KnownWhen>>;

/** One row of a tool table: native name → canonical name, native field → canonical field. */
export interface ToolRow {
  readonly native: string;
  readonly tool: string;
  readonly fields?: Readonly<Record<string, string>>;
}
export interface ToolTable {
  readonly rows: readonly ToolRow[];
  /** Built-in tools that deliberately keep their native name. */
  readonly passed_through: readonly string[];
}

export interface LaunchRequest {
  prompt: string;
  model: string | null;
  approve: ApproveMode;
  resume: string | null;
  /** Whether text deltas are requested. */
  stream: boolean;
  /** Passed to the agent unchanged, after all other arguments. */
  args: readonly string[];
  /** The program to start instead of the agent's own, with leading arguments; null: the agent's own. */
  command: readonly string[] | null;
  /** Whether stdin stays open after the prompt. The agent then has `input`, which formats further messages. */
  accept_input?: boolean;
  /** For an agent program that is part of tacho: the command that starts it, this Node and the entry file. */
  self: { node: string; entry: string };
}
export interface LaunchSetting {
  approve: ApproveMode;
  env: Readonly<Record<string, string | undefined>>;
  /** The user that the agent runs as; null: the system has no user ids. */
  uid: number | null;
}
export interface LaunchPlan {
  /** A program name (looked up on PATH) or a path. */
  command: string;
  args: string[];
  /** Added to the inherited environment. */
  env: Record<string, string>;
  /** Text for the agent's stdin, which is then closed unless more input may follow. Null: stdin is empty. */
  stdin: string | null;
}

/** A decision whether a call may run. */
export interface Confirmation {
  call_id: string;
  confirmed: boolean;
  message: string | null;
}

/**
 * Input to one running agent after its prompt (LP-14): formats requests as lines for its stdin, using what the agent has
 * reported so far. Contract: pure; a message counts as accepted when an event shows it.
 */
export interface InputTalk {
  /** `id`: a UUID that is unique to this text. */
  say(text: string, id: string): string;
  /** Interrupts the agent's current work. Messages that it has not started on are processed after that. */
  interrupt(): string;
  /** Null: the agent did not ask about this call. Absent: the agent never asks. */
  confirm?(answer: Confirmation): string | null;
  event(event: Event): void;
  /** Messages that the agent has not accepted yet. */
  readonly waiting: readonly string[];
  /** Whether the agent has finished all accepted messages. If no message is waiting, it exits when its stdin is closed. */
  readonly resting: boolean;
}

/** One file of a session: the main file or the file of a sub-agent. */
export interface SessionPart {
  path: string;
  /** The call that started the sub-agent; null for the main file, or if unknown. */
  parent_call_id: string | null;
  /**
   * No record names that call yet, but the next ones may. Until then, the part belongs to the provisional end of the run.
   * The size up to which the file was looked through that will name it.
   */
  unclaimed?: { in: string; bytes: number };
}

/**
 * Turns native records into drafts, one at a time and in order, with whatever state it needs.
 * Contract: never throws; an unknown record becomes a `problem` draft; the same records result in the same drafts.
 */
export interface Decoder {
  record(value: unknown, out: Draft[], part?: SessionPart): void;
  /** The records that a non-JSON line completes; they are then passed to `record`. Null: the agent does not know such lines. */
  text?(line: string, out: Draft[]): readonly unknown[] | null;
  /**
   * The drafts of the end, if the input ends here. A session file may grow after it: its decoder then continues as if this
   * had not been called.
   */
  end(out: Draft[]): void;
}

/** The main file of a session, where the CLI stores it. */
export interface SessionFile {
  path: string;
  session_id: string;
  modified_ms: number;
}

interface StreamDecoderOptions {
  /** The run continues a session, so its figures may include earlier runs. */
  resumed?: boolean;
}

export interface SessionDecoderOptions {
  /** The session's main file, if it is known. Its place may show facts that its records lack. */
  path?: string;
  /** Earlier records belong to earlier runs: the file of a resumed session contains those too. */
  since_ms?: number;
  /** The usage is that of all runs in the file, from `since_ms` on. Default: an agent may report that of the last run. */
  all_runs?: boolean;
  /** Set if the stream of the run was also recorded: whether the stream reported the run's tokens. */
  stream_usage?: boolean;
}

/** Receives the error for a file or folder that exists but cannot be read. The search continues without it. */
export type Unreadable = (error: Error) => void;

/**
 * A cache of data that was read for one session and is valid for others, under keys that the reader chooses. Contract: it
 * lives as long as one command; files that are added during that time may be missed.
 */
export type Memo = Map<string, unknown>;

interface SessionQuery {
  session_id: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
  unreadable?: Unreadable;
}

/**
 * Where the main files of sessions are: below a folder, with a name pattern per level. The first group of the last pattern
 * that has one is the session's id. Or a database that has many sessions.
 */
export type SessionPlace =
  | { readonly root: string; readonly names: readonly RegExp[] }
  | { readonly database: string };

/** How long an agent's CLI keeps its own session files. */
export interface Retention {
  /** Days after the last change of a session. Null: unknown, because `source` cannot be read or has an invalid value. */
  days: number | null;
  /** The effect on older sessions. */
  what: 'deletes' | 'compresses';
  /** Name of the setting. */
  setting: string;
  /** The settings file that decides; null: the CLI's default. */
  source: string | null;
  /** A further rule, for people; null if there is none. */
  also: string | null;
}

export interface SessionFiles {
  /** The places where the CLI stores its sessions, for people. */
  readonly where: string;
  /** Set if the CLI rewrites a file as a whole: bytes that changed are no sign of a changed history. */
  readonly rewritten?: true;
  /** The main file of a session; null if there is none. */
  find(query: SessionQuery): Promise<string | null>;
  /** Main files of all sessions, newest first where that is cheap. Excludes files of sub-agents. */
  list?(query: { env: NodeJS.ProcessEnv; memo?: Memo | undefined }): AsyncIterable<SessionFile>;
  /** The same places for programs. Files that are found there may still belong to sub-agents: see `isMain`. */
  places?(env: NodeJS.ProcessEnv): readonly SessionPlace[];
  /** False if the file belongs to a sub-agent although its name does not show it, or is not readable. */
  isMain?(path: string, memo?: Memo): Promise<boolean>;
  /** Set if files of sub-agents are in the same places, and `isMain` is false for them. */
  readonly parts_in_places?: true;
  /** Names of files beside main files that only look like sessions. */
  readonly beside?: RegExp;
  /** The main file and the files of its sub-agents, main first. */
  parts(path: string, unreadable?: Unreadable, memo?: Memo): Promise<SessionPart[]>;
  /** The lines of a part that is not a file, such as a session in a database. Null: the part is a file. */
  read?(path: string): Iterable<Buffer> | null;
  /** A record's own time in epoch ms, for merging several files; null if it has none. */
  timeOf(value: unknown): number | null;
  decoder(options?: SessionDecoderOptions): Decoder;
  /**
   * Set if the stream and the session file have different ids for the same call: a key that is the same in both.
   * Calls with the same key and the same end are matched in order. Null: the stream never shows such a call.
   */
  keyOf?(call: { tool: string; native_tool: string; input: unknown }): string | null;
  /**
   * The CLI's own rule for old sessions, from its settings. Null: it keeps them. Absent: no rule is known. Contract: only
   * reads, never throws. Settings of projects are not read.
   */
  retention?(env: NodeJS.ProcessEnv): Retention | null;
}

/** The shapes of an agent's records in its recordings, for `tacho drift` (AG-19). */
export interface RecordShapes {
  /** The kind of a record or inner object; '' if it has none. Kinds without a declaration are not inspected. */
  kindOf(value: Readonly<Record<string, unknown>>): string;
  /** Fields, in any record, with contents that tacho does not define: inputs and results of tools, maps by name. */
  readonly opaque: readonly string[];
  /** By channel and kind: the fields, in the notation of lib/shape. */
  readonly stdout: Readonly<Record<string, string>>;
  readonly session: Readonly<Record<string, string>>;
  /** Fields that decoders read although no recording has them, by channel and kind, in the same notation. */
  readonly unrecorded?: {
    readonly stdout?: Readonly<Record<string, string>>;
    readonly session?: Readonly<Record<string, string>>;
  };
}

/** How the tokens of an agent are priced, for runs of which it reports no cost. */
export interface Pricing {
  /** The provider of models if their names do not show it, by its id in the list of prices. Null: several. */
  readonly provider: string | null;
  /** Whether `output` includes reasoning. If not, reasoning is priced as output. */
  readonly reasoning: 'in_output' | 'beside';
  /** Figures without which the cost is unknown: those that the agent always reports. Others count as 0. */
  readonly needs: readonly (keyof Usage)[];
}

export interface Agent {
  readonly id: string;
  readonly title: string;
  /** Program names to look up on PATH. Empty: the agent is built in. */
  readonly binaries: readonly string[];
  /** Names that its processes give themselves, if they differ from the program's. */
  readonly process_names?: readonly string[];
  /** How to install it, for people. */
  readonly install: string;
  /** Arguments that make the program print its version. */
  readonly version_args: readonly string[];
  /** Versions the adapter was checked against. */
  readonly checked_versions: readonly string[];
  readonly capabilities: Capabilities;
  /** Absent: the agent always reports its cost, or the meaning of its token figures is unknown. */
  readonly pricing?: Pricing;
  /**
   * The effect of each value of `--approve` on this agent, for people. `launch` adds the corresponding flags. Null if
   * tacho cannot start it.
   */
  readonly approval: Readonly<Record<ApproveMode, string>> | null;
  readonly tools: ToolTable;
  /** Environment variables with its credentials, in addition to those that look like secrets. */
  readonly secret_env: readonly string[];
  /** Null: tacho cannot start the agent and only reads its session files. */
  readonly launch: ((request: LaunchRequest) => LaunchPlan) | null;
  /** Another way to run an agent that tacho cannot start, for people: a sentence. */
  readonly instead?: string;
  /** Why the agent is known to refuse to start with these settings, and the remedy; null if no reason is known. */
  caution?(start: LaunchSetting): string | null;
  /** The decoder of its stdout; null if `launch` is null. */
  readonly stream: ((options?: StreamDecoderOptions) => Decoder) | null;
  readonly session: SessionFiles | null;
  /** Present if the agent accepts input during a run. */
  input?(): InputTalk;
  /** The known shapes of its records, loaded on demand. Without them, only record types are compared. */
  shapes?(): Promise<RecordShapes>;
}

/** An agent that tacho can start. */
export interface RunnableAgent extends Agent {
  readonly approval: NonNullable<Agent['approval']>;
  readonly launch: NonNullable<Agent['launch']>;
  readonly stream: NonNullable<Agent['stream']>;
}
