/** A spool's description of its run, with which any later tacho can finish the capture (ST-3). */
import { rmSync } from 'node:fs';
import { findAgent } from '../../agents/registry.ts';
import type { DrainMark } from '../../capture/source/drain.ts';
import { startOf } from '../../capture/source/process-tree.ts';
import type { AgentProcess } from '../../capture/source/spawn.ts';
import type { Agent } from '../../model/agent.ts';
import { knownSecrets } from '../../redact/gate.ts';
import { thisOwner } from '../../store/owner.ts';
import {
  markRecorded,
  readMeta,
  removeMark,
  removeSpool,
  SPOOL_MARK,
  type Spool,
  writeMeta,
} from '../../store/spool/spool.ts';
import { stateDirAt } from '../../store/state-dir.ts';
import type { RunRequest } from './request.ts';
import { metaFrom, type SpoolMeta } from './spool-check.ts';

export type { SpoolMeta } from './spool-check.ts';

export function metaOf(parts: {
  request: RunRequest;
  run_id: string;
  started_ms: number;
  agent: AgentProcess | null;
  drains: readonly DrainMark[];
}): SpoolMeta {
  const { request, run_id, started_ms, agent, drains } = parts;
  const { config, prompt, cwd, keep_raw, stream_log, redact, live } = request;
  const noted = { run_id, config, prompt, cwd, started_ms, keep_raw, stream_log, redact, live };
  return {
    version: 1,
    ...noted,
    secrets: secretsOf(request),
    owner: thisOwner(stateDirAt(request.state_dir).journal),
    agent: agent?.pid == null ? null : { pid: agent.pid, start: agent.start },
    drains: drains.map(({ pid, start }) => ({ pid, start })),
  };
}

/** The initial bytes of the files of this spool. */
export function markOf({ drains }: SpoolMeta): Buffer {
  return drains === undefined ? Buffer.alloc(0) : SPOOL_MARK;
}

export function agentRuns({ agent }: SpoolMeta): boolean {
  return agent !== null && agent.start !== null && startOf(agent.pid) === agent.start;
}

function secretsOf({ env, agent }: RunRequest): Record<string, string> {
  const values = new Set(knownSecrets(env, agent.secret_env).values);
  return Object.fromEntries(Object.entries(env).filter(([, value]) => values.has(value.trim())));
}

/** The raw output is not removed from now on, because the record does not contain all of it. */
export function keepRaw(spool: Spool): void {
  try {
    const read = metaIn(spool);
    if ('meta' in read) writeMeta(spool, { ...read.meta, keep_raw: true });
  } catch {
    // The disk fails. The known part of the run is still recorded.
  }
}

/**
 * Called when the run is recorded: its spool is removed or, if kept on request, loses the stored secrets and is not
 * sent again. An unusable meta.json is removed, because it is not needed any more.
 */
export function closeSpool(spool: Spool, keep_raw: boolean): void {
  if (!keep_raw) {
    removeSpool(spool);
    return;
  }
  for (const path of [spool.stdout, spool.stderr]) removeMark(path);
  markRecorded(spool);
  const read = metaIn(spool);
  if (!('meta' in read)) {
    rmSync(spool.meta, { recursive: true, force: true });
    return;
  }
  const { meta } = read;
  if (Object.keys(meta.secrets).length > 0 || meta.live != null)
    writeMeta(spool, { ...meta, secrets: {}, live: null });
}

export type KnownSpool = { meta: SpoolMeta; agent: Agent };

/** Why the meta file is unusable, with its name. Null if it is missing. `later`: reading it may succeed next time. */
export type UnknownSpool = { fault: string | null; later?: boolean };

/** Errors that do not concern the file itself. */
const PASSING = new Set(['EACCES', 'EIO', 'EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EINTR']);

function metaIn(spool: Spool): { meta: SpoolMeta } | UnknownSpool {
  try {
    const source = readMeta(spool);
    return source === undefined ? { fault: null } : { meta: metaFrom(source, spool.name) };
  } catch (error) {
    const { message, cause } = error as Error & { cause?: NodeJS.ErrnoException };
    // As one line for the list of spools.
    const fault = message.replaceAll('\n', '; ');
    return { fault, later: PASSING.has(cause?.code ?? '') };
  }
}

export async function readSpoolMeta(spool: Spool): Promise<KnownSpool | UnknownSpool> {
  const read = metaIn(spool);
  if (!('meta' in read)) return read;
  const agent = await findAgent(read.meta.config.agent);
  if (agent !== undefined) return { ...read, agent };
  const name = JSON.stringify(read.meta.config.agent.slice(0, 64));
  return { fault: `${spool.meta}: ${name} is not an agent that this version supports` };
}
