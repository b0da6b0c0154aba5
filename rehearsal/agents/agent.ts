/** What the rehearsal has to know of an agent: one file each beside this one, one entry in `index.ts`. */
import type { Package } from '../install.ts';
import type { Expected, Scenario } from '../scenarios.ts';

/** Where things lie inside the sandbox (made by `enter.sh`). */
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

/** The skill `greeting-style`, in the form that all agents read. */
export const SKILL_FILE = `---
name: greeting-style
description: How this project greets people.
---
Greet with "Ahoy!".
`;

/** How the MCP server `toybox` is started. */
export const TOYBOX = {
  command: `${INSIDE.bin}/node`,
  args: [`${INSIDE.project}/rehearsal/toybox-mcp.ts`],
} as const;

export interface NativeCall {
  tool: string;
  input: Record<string, unknown>;
}

export interface SetUp {
  /** Files of the work folder, beyond the scenario's. */
  files: Readonly<Record<string, string>>;
  /** Arguments for the agent, after `--`. */
  args: readonly string[];
}

export interface Rehearsed {
  /** tacho's id of it. */
  id: string;
  package: Package;
  /** Which server dialect its model speaks. */
  dialect: string;
  /** Its environment beyond HOME and PATH: where the model is, and everything that calls elsewhere switched off. */
  env: Readonly<Record<string, string>>;
  /** Files of its home, where the environment is not enough. */
  home?: Readonly<Record<string, string>>;
  /** Arguments it always needs, after `--`. */
  args?: readonly string[];
  /** Its stdout tells of a call only when that is over: whoever interferes waits for the call's file alone. */
  calls_told_late?: true;
  /** It takes input while it runs. */
  takes_input?: true;
  /** Settings for the whole machine, which must not be seen. */
  machine_settings: readonly string[];
  /** A canonical call as this agent's model makes it. */
  native(call: NativeCall): NativeCall;
  setUp(need: NonNullable<Scenario['needs']>): SetUp;
  /** Scenarios it cannot play, each with the reason. */
  without: Readonly<Record<string, string>>;
  /** Where it rightly differs from what is expected of every agent. */
  differs: Readonly<Record<string, Partial<Expected>>>;
}
