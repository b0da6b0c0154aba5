/** Facts about an agent that the rehearsal needs: one file per agent beside this one, one entry in `index.ts`. */
import type { Package } from '../install.ts';
import type { Expected, Scenario } from '../scenarios.ts';

/** Paths inside the sandbox (created by `enter.sh`). */
export const INSIDE = {
  project: '/mnt/tacho',
  cli: '/mnt/cli',
  bin: '/mnt/bin',
  room: '/mnt/room',
  home: '/mnt/room/home',
  work: '/mnt/room/work',
  state: '/mnt/room/state',
  out: '/mnt/room/out',
  model_port: 8080,
} as const;

export const MODEL_URL = `http://127.0.0.1:${INSIDE.model_port}`;

/** The skill `greeting-style`, in the format that all agents read. */
export const SKILL_FILE = `---
name: greeting-style
description: How this project greets people.
---
Greet with "Ahoy!".
`;

/** The command of the MCP server `toybox`. */
export const TOYBOX = {
  command: `${INSIDE.bin}/node`,
  args: [`${INSIDE.project}/rehearsal/toybox-mcp.ts`],
} as const;

export interface NativeCall {
  tool: string;
  input: Record<string, unknown>;
}

export interface SetUp {
  /** Files of the work folder in addition to the scenario's. */
  files: Readonly<Record<string, string>>;
  /** Arguments for the agent, after `--`. */
  args: readonly string[];
}

/** How a person uses the agent on a terminal. */
export interface OnTerminal {
  args: readonly string[];
  /** Files in its home instead of those of the same names: it asks nothing at its first start in `work`. */
  home?(work: string): Readonly<Record<string, string>>;
  /** Questions at its first start: a text in each, and the keys that answer it. */
  answers?: readonly (readonly [string, string])[];
  /** Keys that end it, one after the other. */
  quit: readonly string[];
}

export interface Rehearsed {
  /** The agent's id in tacho. */
  id: string;
  package: Package;
  /** The server dialect that its model speaks. */
  dialect: string;
  /** Environment in addition to HOME and PATH: the model's address, and switches that disable all other requests. */
  env: Readonly<Record<string, string>>;
  /** Files in its home, if the environment is not enough. */
  home?: Readonly<Record<string, string>>;
  /** Arguments that are always required, after `--`. */
  args?: readonly string[];
  /** Its stdout reports a call only after the call's end, so an interruption waits only for the call's file. */
  reports_calls_late?: true;
  /** Accepts input while it runs. */
  takes_input?: true;
  /** Calls of the scenario `subagent` as its session file has them; absent: the same as in its record. */
  filed_calls?: Expected['calls'];
  /** It cannot continue a session without a terminal. */
  one_prompt?: true;
  /** Absent: it is not rehearsed on a terminal. */
  terminal?: OnTerminal;
  /** Machine-wide settings, which must be hidden. */
  machine_settings: readonly string[];
  /** Converts a canonical call to this agent's native call. */
  native(call: NativeCall): NativeCall;
  setUp(need: NonNullable<Scenario['needs']>): SetUp;
  /** Scenarios that it cannot play, each with the reason. */
  without: Readonly<Record<string, string>>;
  /** Deviations from the common expectations that are correct. */
  differs: Readonly<Record<string, Partial<Expected>>>;
}
