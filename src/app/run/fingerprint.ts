/** The fingerprint of a run: a hash over behaviour only (RE-18). */
import { createHash } from 'node:crypto';
import type { RunConfig } from '../../model/parts.ts';

export interface Behaviour {
  config: RunConfig;
  prompt: string;
  agent_version: string | null;
  model: string | null;
  tools: string[] | null;
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** An absolute path says where a machine keeps things, not what the agent does: only its last part counts. */
const withoutFolders = (argument: string) =>
  argument.replace(/(^|[=:,])\/(?:[^/\s=:,]+\/)+/g, '$1');

/** Only where there are limits: runs without any keep the fingerprint they always had. */
function limitsOf({ limits }: RunConfig): [string, number][] {
  return Object.entries(limits ?? {}).filter((pair): pair is [string, number] => pair[1] !== null);
}

/** Only where another program was asked for than the agent's own: those runs keep the fingerprint they always had. */
function commandOf({ command }: RunConfig): [string, string[]][] {
  return command === undefined ? [] : [['command', command.map(withoutFolders)]];
}

/** The same behaviour on another machine, in another folder or with other output options has the same fingerprint. */
export function fingerprint({ config, prompt, agent_version, model, tools }: Behaviour): string {
  const parts = [
    ['agent', config.agent],
    ['agent_version', agent_version],
    ['model', model ?? config.model],
    ['prompt', sha256(prompt)],
    ['args', config.args.map(withoutFolders)],
    ['approve', config.approve],
    ['timeout_ms', config.timeout_ms],
    ['env_names', [...config.env_names].sort()],
    ['tools', tools === null ? null : [...tools].sort()],
    ...limitsOf(config),
    ...commandOf(config),
  ];
  return sha256(JSON.stringify(parts));
}
