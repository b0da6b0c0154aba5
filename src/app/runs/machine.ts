/** The agents and the health of this machine, for programs: `tacho agents` and `tacho doctor` as functions. */
import { checkOptions } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import { findStateDir } from '../../store/state-dir.ts';
import type { AgentReport } from './agents.ts';
import type { Finding } from './doctor.ts';

/** Options of `agents`. */
export interface AgentsOptions {
  /** Id of the only agent to report. Default: all. */
  agent?: string | undefined;
}

/** Options of `doctor`. */
export interface DoctorOptions {
  /** State folder to check. Default: `$TACHO_HOME`, else `.tacho` here or above, else the user's store. */
  stateDir?: string | undefined;
}

const AGENTS_FIELDS = { agent: is.text } as const satisfies Readonly<
  Record<keyof AgentsOptions, is.Fields[string]>
>;

const DOCTOR_FIELDS = { stateDir: is.anyText } as const satisfies Readonly<
  Record<keyof DoctorOptions, is.Fields[string]>
>;

/** The supported agents: which are installed, their versions, and what the record of each contains, and when. */
export async function agents(options: AgentsOptions = {}): Promise<AgentReport[]> {
  checkOptions('agents', options, AGENTS_FIELDS);
  const { agentReports } = await import('./agents.ts');
  return agentReports(options.agent, process.env);
}

/** Checks whether tacho can record runs here. It cannot if `ok` of any finding is false. */
export async function doctor(options: DoctorOptions = {}): Promise<Finding[]> {
  checkOptions('doctor', options, DOCTOR_FIELDS);
  const { env } = process;
  const { examine } = await import('./doctor.ts');
  return examine(findStateDir({ flag: options.stateDir, env }), env);
}
