/** What an agent's folder exports, and what it is given. Nothing here knows a particular agent. */
import type { Draft } from './draft.ts';
import type { Event } from './event.ts';
import type { ApproveMode } from './words.ts';

/**
 * When a fact about a run is known (AG-17). live: while the agent works. end: on its stdout, but only when its work is done.
 * after: from its session file. never: the agent does not report it.
 */
export type When = 'live' | 'end' | 'after' | 'never';
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
export type Capabilities = Readonly<Record<(typeof CAPABILITY_NAMES)[number], When>>;

/** One row of a tool table: native name → canonical name, native field → canonical field. */
export interface ToolRow {
  readonly native: string;
  readonly tool: string;
  readonly fields?: Readonly<Record<string, string>>;
}
export interface ToolTable {
  readonly rows: readonly ToolRow[];
  /** Built-in tools that deliberately keep their own name. */
  readonly passed_through: readonly string[];
}

export interface LaunchRequest {
  prompt: string;
  model: string | null;
  approve: ApproveMode;
  resume: string | null;
  /** Whether text deltas are wanted. */
  stream: boolean;
  /** Passed to the agent unchanged, after everything else. */
  args: readonly string[];
  /** The program to start instead of the agent's own, with leading arguments; null: the agent's own. */
  command: readonly string[] | null;
  /** Whether more than the prompt may come on stdin, in the words of the agent's `input`, which it then has. */
  accept_input?: boolean;
  /** How the program that tacho brings for the agent is started, where it does: this Node and the entry file. */
  self: { node: string; entry: string };
}
export interface LaunchSetting {
  approve: ApproveMode;
  env: Readonly<Record<string, string | undefined>>;
  /** The user that the agent runs as; null: the system has no such numbers. */
  uid: number | null;
}
export interface LaunchPlan {
  /** A program name (looked up on PATH) or a path. */
  command: string;
  args: string[];
  /** Added to the inherited environment. */
  env: Record<string, string>;
  /** Text for the agent's stdin, which is closed after it unless more may come; null: stdin is empty. */
  stdin: string | null;
}

/** An answer to whether a call may run. */
export interface Confirmation {
  call_id: string;
  confirmed: boolean;
  message: string | null;
}

/**
 * What is said to one running agent beyond its prompt (LP-14): lines for its stdin, made of what was asked and of what
 * the agent has told so far. Contract: pure; a text that was said counts as taken up once an event shows it.
 */
export interface InputTalk {
  /** `id`: a UUID of this text alone. */
  say(text: string, id: string): string;
  /** Ends what the agent does just now; what was said and not begun comes after it. */
  interrupt(): string;
  /** Null: it does not ask about such a call. Absent: it asks nobody. */
  confirm?(answer: Confirmation): string | null;
  event(event: Event): void;
  /** Texts that it has not taken up. */
  readonly waiting: readonly string[];
  /** Whether it is done with what it has taken up; with nothing waiting it then ends when its stdin does. */
  readonly resting: boolean;
}

/** One file of a session: the main one, or a sub-agent's. */
export interface SessionPart {
  path: string;
  /** The call that started the sub-agent; null for the main file, or where it is not known. */
  parent_call_id: string | null;
}

/**
 * Turns native records into drafts, one at a time and in order, with whatever state it needs.
 * Contract: never throws; a record it does not know becomes a `problem` draft; the same records give the same drafts.
 */
export interface Decoder {
  record(value: unknown, out: Draft[], part?: SessionPart): void;
  /** The records that a line which is no JSON completes; they are then given to `record`. Null: it means nothing to this agent. */
  text?(line: string, out: Draft[]): readonly unknown[] | null;
  /** The input has ended. */
  end(out: Draft[]): void;
}

/** A session's main file, where the CLI keeps it. */
export interface SessionFile {
  path: string;
  session_id: string;
  modified_ms: number;
}

interface StreamDecoderOptions {
  /** The run continues a session; its figures may count the runs before it too. */
  resumed?: boolean;
}

export interface SessionDecoderOptions {
  /** Only what happened from then on is this run's (a resumed session's file holds earlier runs too). */
  since_ms?: number;
  /** Set where the run's stream was recorded too: whether it told the run's tokens. */
  stream_usage?: boolean;
}

/** Takes the error of a file or folder that is there and cannot be looked into; the search continues without it. */
export type Unreadable = (error: Error) => void;

/**
 * What was read for one session and serves for others too, by the reader's own keys. Contract: lives as long as one
 * command; what comes into the folders meanwhile may not be seen.
 */
export type Memo = Map<string, unknown>;

interface SessionQuery {
  session_id: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
  unreadable?: Unreadable;
}

export interface SessionFiles {
  /** The main file of a session, where the CLI keeps it; null when there is none. */
  find(query: SessionQuery): Promise<string | null>;
  /** Main files of all sessions that the CLI keeps, newest first where that is cheap; sub-agents' files are none. */
  list?(query: { env: NodeJS.ProcessEnv; memo?: Memo | undefined }): AsyncIterable<SessionFile>;
  /** The main file and the files of its sub-agents, main first. */
  parts(path: string, unreadable?: Unreadable, memo?: Memo): Promise<SessionPart[]>;
  /** What a part that is no file of its own says, as lines: a session of a database. Null: it is a file. */
  read?(path: string): Iterable<Buffer> | null;
  /** A record's own time in epoch ms, for merging several files; null when it has none. */
  timeOf(value: unknown): number | null;
  decoder(options?: SessionDecoderOptions): Decoder;
  /**
   * Set where the stream and the session file give the same call different ids: what the call is about, alike in both.
   * Calls with the same key and the same end are the same call, in order. Null: the stream never shows such a call.
   */
  keyOf?(call: { tool: string; native_tool: string; input: unknown }): string | null;
}

/** The records of an agent as its recordings show them, for `tacho drift` (AG-19). */
export interface RecordShapes {
  /** What kind of record or inner object this is; '' where it has none. A kind without a declaration is not looked into. */
  kindOf(value: Readonly<Record<string, unknown>>): string;
  /** Fields, in any record, whose inside belongs to others: inputs and results of tools, maps by name. */
  readonly opaque: readonly string[];
  /** By channel and kind: the fields, in the notation of lib/shape. */
  readonly stdout: Readonly<Record<string, string>>;
  readonly session: Readonly<Record<string, string>>;
  /** Fields that decoders read and no recording shows, by channel and kind, in the same notation. */
  readonly unrecorded?: {
    readonly stdout?: Readonly<Record<string, string>>;
    readonly session?: Readonly<Record<string, string>>;
  };
}

export interface Agent {
  readonly id: string;
  readonly title: string;
  /** Program names looked for on PATH; empty: built in. */
  readonly binaries: readonly string[];
  /** How to install it, for people. */
  readonly install: string;
  /** Arguments that make the program print its version. */
  readonly version_args: readonly string[];
  /** Versions the adapter was checked against. */
  readonly checked_versions: readonly string[];
  readonly capabilities: Capabilities;
  /** The effect of each value of `--approve` on this agent, for people. The flags are those that `launch` makes. */
  readonly approval: Readonly<Record<ApproveMode, string>>;
  readonly tools: ToolTable;
  /** Environment variables that hold its credentials, beyond those that look like secrets. */
  readonly secret_env: readonly string[];
  launch(request: LaunchRequest): LaunchPlan;
  /** Why the agent is known to refuse such a start, and the remedy; null: nothing is known. */
  caution?(start: LaunchSetting): string | null;
  stream(options?: StreamDecoderOptions): Decoder;
  readonly session: SessionFiles | null;
  /** Present where it takes input while it runs. */
  input?(): InputTalk;
  /** What is known of its records, loaded when it is asked for; without it only types are compared. */
  shapes?(): Promise<RecordShapes>;
}
