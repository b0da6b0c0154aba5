/** What a spool says of its run, so that any later tacho can finish the capture (ST-3). */
import { findAgent } from '../agents/registry.ts';
import { type DrainMark, isDraining } from '../capture/drain.ts';
import { startOf } from '../capture/process-tree.ts';
import type { AgentProcess } from '../capture/spawn.ts';
import type { Agent } from '../model/agent.ts';
import type { RunConfig } from '../model/parts.ts';
import { type Owner, thisOwner } from '../store/owner.ts';
import { knownSecrets } from '../store/redact-values.ts';
import {
  readMeta,
  removeMark,
  removeSpool,
  SPOOL_MARK,
  type Spool,
  writeMeta,
} from '../store/spool.ts';
import { stateDirAt } from '../store/state-dir.ts';
import type { StreamLog } from './config-log.ts';
import type { LiveRunConfig } from './live-run.ts';
import type { RunRequest } from './request.ts';

export interface SpoolMeta {
  version: 1;
  run_id: string;
  config: RunConfig;
  prompt: string;
  cwd: string;
  started_ms: number;
  keep_raw: boolean;
  /** Missing in spools of earlier versions. */
  stream_log?: StreamLog;
  redact: readonly string[];
  /** Where it was sent as it went on; missing in spools of earlier versions. */
  live?: LiveRunConfig | null;
  /**
   * The environment's secrets, so that a recovery can redact them: the spool may hold them anyway, and they go with it.
   */
  secrets: Record<string, string>;
  owner: Owner;
  agent: { pid: number; start: string | null } | null;
  /** Processes that write the agent's output into the spool; none where the agent writes it itself. Missing in spools of
   * earlier versions, whose files have no mark either. */
  drains?: DrainMark[];
}

export function metaOf(parts: {
  request: RunRequest;
  run_id: string;
  started_ms: number;
  agent: AgentProcess | null;
  drains: readonly DrainMark[];
}): SpoolMeta {
  const { request, run_id, started_ms, agent, drains } = parts;
  const { config, prompt, cwd, keep_raw, stream_log, redact, live } = request;
  return {
    version: 1,
    run_id,
    config,
    prompt,
    cwd,
    started_ms,
    keep_raw,
    stream_log,
    redact,
    live,
    secrets: secretsOf(request),
    owner: thisOwner(stateDirAt(request.state_dir).journal),
    agent: agent?.pid == null ? null : { pid: agent.pid, start: agent.start },
    drains: drains.map(({ pid, start }) => ({ pid, start })),
  };
}

/** What the files of this spool began with. */
export function markOf({ drains }: SpoolMeta): Buffer {
  return drains === undefined ? Buffer.alloc(0) : SPOOL_MARK;
}

export function agentRuns({ agent }: SpoolMeta): boolean {
  return agent !== null && agent.start !== null && startOf(agent.pid) === agent.start;
}

/** Whether the spool may still grow by what the agent said: it runs, or its last words are on their way. */
export function stillWrites(meta: SpoolMeta): boolean {
  return agentRuns(meta) || (meta.drains ?? []).some(isDraining);
}

function secretsOf({ env, agent }: RunRequest): Record<string, string> {
  const values = new Set(knownSecrets(env, agent.secret_env).values);
  return Object.fromEntries(Object.entries(env).filter(([, value]) => values.has(value.trim())));
}

/** The run is recorded: its spool is removed, or what was kept on request loses the secrets noted beside it, and is
 * sent to nobody again. */
export function closeSpool(spool: Spool, keep_raw: boolean): void {
  if (!keep_raw) {
    removeSpool(spool);
    return;
  }
  for (const path of [spool.stdout, spool.stderr]) removeMark(path);
  const meta = readMeta(spool) as SpoolMeta | null;
  const noted = meta !== null && (Object.keys(meta.secrets ?? {}).length > 0 || meta.live != null);
  if (noted) writeMeta(spool, { ...meta, secrets: {}, live: null });
}

export type KnownSpool = { meta: SpoolMeta; agent: Agent };

/** Null where the meta file is missing, broken, or of an agent that this tacho does not know. */
export async function readSpoolMeta(spool: Spool): Promise<KnownSpool | null> {
  const meta = readMeta(spool) as SpoolMeta | null;
  if (meta === null || meta.version !== 1 || typeof meta.run_id !== 'string') return null;
  const agent = await findAgent(meta.config?.agent);
  return agent === undefined ? null : { meta, agent };
}
