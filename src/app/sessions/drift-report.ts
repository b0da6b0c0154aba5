/** Compares a recording of an agent with what its adapter knows: the report of `tacho drift`, also for programs. */
import { checkOptions } from '../../lib/schema/options.ts';
import type * as is from '../../lib/schema/read.ts';
import type { Agent } from '../../model/agent.ts';
import type { AnyRedactor } from '../../redact/gate.ts';
import { passingRedactor } from '../config/redaction.ts';
import { CONVERT_FIELDS } from '../run/option-fields.ts';
import type { Drift } from './drift.ts';

/** Options of `drift`. */
export interface DriftOptions {
  /** Id of the agent that wrote the recording. */
  agent: string;
  /** Path of a file, or the bytes themselves. Default: the session that the agent used last. */
  input?: string | AsyncIterable<Uint8Array> | undefined;
  /** Whether the input is a recorded stdout or a session file. Default: `'stdout'`, without `input` `'session'`. */
  from?: 'stdout' | 'session' | undefined;
  /** Patterns of secrets to redact, in addition to the known ones and those of tacho.yaml. */
  redact?: readonly string[] | undefined;
}

/** Parts of a recording that the agent's adapter does not know, and fields that it misses. */
export interface DriftReport extends Drift {
  /** Id of the agent. */
  agent: string;
  /** The versions that the adapter was checked against. */
  checked_versions: readonly string[];
  /** Whether the input was read as a recorded stdout or as a session file. */
  from: 'stdout' | 'session';
  /** Path of the recording; `-` for bytes. */
  path: string;
}

interface Compared {
  agent: Agent;
  from: 'stdout' | 'session';
  path: string;
  input: string | AsyncIterable<Uint8Array>;
  redactor: AnyRedactor;
}

export async function driftReport(compared: Compared): Promise<DriftReport> {
  const { agent, from, redactor } = compared;
  const { driftIn } = await import('./drift.ts');
  const { findings, left_out } = await driftIn(compared);
  return {
    agent: agent.id,
    checked_versions: agent.checked_versions,
    from,
    path: redactor.text(compared.path),
    findings: findings.map((each) => ({ ...each, what: redactor.text(each.what) })),
    left_out,
  };
}

const { agent, from, input, redact } = CONVERT_FIELDS;
const DRIFT_FIELDS = { agent, from, input: input.read, redact } as const satisfies Readonly<
  Record<keyof DriftOptions, is.Fields[string]>
>;

/** Compares a recording with what tacho knows of the agent. Rejects when the recording cannot be read. */
export async function drift(options: DriftOptions): Promise<DriftReport> {
  checkOptions('drift', options, DRIFT_FIELDS);
  const { env } = process;
  const { agentOf } = await import('../config/agent-of.ts');
  const { lastSession } = await import('./drift.ts');
  const agent = await agentOf(options.agent);
  const input = options.input ?? (await lastSession(agent, env));
  const from = options.from ?? (options.input === undefined ? 'session' : 'stdout');
  const redactor = await passingRedactor(env, { agents: [agent], redact: options.redact });
  const path = typeof input === 'string' ? input : '-';
  return driftReport({ agent, from, path, input, redactor });
}
