/** Sessions that `tacho run --resume` is recording now: their next part belongs to that run. */
import { isMap } from '../../lib/own.ts';
import { isRecorded, listSpools, readMeta } from '../../store/spool/spool.ts';
import type { StateDir } from '../../store/state-dir.ts';

/** Since when; null if no run resumes the session. A killed run counts until it is recovered. */
export function resumingSince(
  state: StateDir,
  agent: string,
  session_id: string | null,
): number | null {
  for (const spool of session_id === null ? [] : listSpools(state)) {
    if (isRecorded(spool)) continue;
    const meta = metaIn(() => readMeta(spool)?.value);
    const config = isMap(meta) ? meta.config : null;
    if (!isMap(meta) || !isMap(config) || typeof meta.started_ms !== 'number') continue;
    if (config.agent === agent && config.resume === session_id) return meta.started_ms;
  }
  return null;
}

/** The run may end meanwhile, and an agent can write this file too. */
function metaIn(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return null;
  }
}
