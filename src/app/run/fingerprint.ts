/** The fingerprint of a run: a hash of its behaviour only (RE-18). */
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

/** The folders of an absolute path depend on the machine, not on the agent's behaviour: only the last part counts. */
const withoutFolders = (argument: string) =>
  argument.replace(/(^|[=:,])\/(?:[^/\s=:,]+\/)+/g, '$1');

/** Empty without limits, so that runs without any keep their earlier fingerprint. */
function limitsOf({ limits }: RunConfig): [string, number][] {
  return Object.entries(limits ?? {}).filter((pair): pair is [string, number] => pair[1] !== null);
}

/** Empty for the agent's own program, so that those runs keep their earlier fingerprint. */
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
