/** The part of `tacho doctor` about the agents' own retention. */
import { TachoError } from '../../lib/errors.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import type { StateDir } from '../../store/state-dir.ts';
import {
  type AgentRetention,
  isAtRisk,
  retentionReport,
  retentionText,
  storedIn,
} from './retention-report.ts';

interface RetentionFinding {
  name: string;
  ok: true | null;
  detail: string;
  retention?: AgentRetention;
}

/** `state`: null if there is no store yet. */
export async function retentionFindings(
  state: StateDir | null,
  env: NodeJS.ProcessEnv,
): Promise<RetentionFinding[]> {
  using index = state === null ? null : readableIndex(state);
  const reports = await retentionReport({ env, now_ms: Date.now(), isStored: storedIn(index) });
  const ruled = reports.flatMap((retention): RetentionFinding[] => {
    const detail = retentionText(retention);
    const name = `retention ${retention.agent}`;
    const ok = isAtRisk(retention) ? null : true;
    return detail === null ? [] : [{ name, ok, detail, retention }];
  });
  const others = reports.filter(({ rule }) => rule === null).map(({ agent }) => agent);
  const detail = `no rule for old sessions is known, or it is off: ${others.join(', ')}`;
  return others.length === 0 ? ruled : [...ruled, { name: 'retention', ok: true, detail }];
}

/** Another check reports why the index cannot be read. */
function readableIndex(state: StateDir): Index | null {
  try {
    return openIndex(state);
  } catch (error) {
    if (!(error instanceof TachoError)) throw error;
    return null;
  }
}
