/** Findings of `tacho doctor` about watching: the health of the watcher, and files that nobody imports. */
import { allAgents } from '../../agents/registry.ts';
import { durationText, plural } from '../../lib/figures.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { findStrays } from '../sessions/strays.ts';
import { liveText, watchStatus } from './health.ts';
import { installedService } from './service.ts';

interface WatchFinding {
  name: string;
  ok: true | null;
  detail: string;
}

export async function watchFindings(
  state: StateDir | null,
  env: NodeJS.ProcessEnv,
): Promise<WatchFinding[]> {
  const findings = state === null ? [] : [watcher(state)];
  findings.push(...service());
  const strays = await findStrays(await allAgents(), env);
  if (strays.length > 0) {
    const [first] = strays;
    const detail = `not imported, although they look like sessions: ${plural(strays.length, 'file')} in the folders of agents, such as ${first?.path}`;
    findings.push({ name: 'strays', ok: null, detail });
  }
  return findings;
}

function service(): WatchFinding[] {
  try {
    const found = installedService();
    if (found === null) return [];
    const { path, missing } = found;
    const detail =
      missing.length === 0
        ? path
        : `${path} starts ${missing.join(' and ')}, which no longer exists: install it again with tacho watch --install`;
    return [{ name: 'service', ok: missing.length === 0 ? true : null, detail }];
  } catch (error) {
    return [{ name: 'service', ok: null, detail: (error as Error).message }];
  }
}

function watcher(state: StateDir): WatchFinding {
  const name = 'watch';
  const { running, stalled, health } = watchStatus(state);
  if (!running)
    return { name, ok: null, detail: 'no watcher runs: start one with tacho watch --install' };
  if (health === null) return { name, ok: true, detail: 'a watcher is starting' };
  const silent_ms = Date.now() - health.written_ms;
  const facts = [`process ${health.pid} follows ${plural(health.sessions, 'session')}`];
  if (stalled) facts.push(`it is stalled: it did not report for ${durationText(silent_ms)}`);
  if (health.waiting > 0) facts.push(`${health.waiting} wait to be imported`);
  if (health.lag_ms !== null) facts.push(`delay at most ${durationText(health.lag_ms)}`);
  if (health.unwatched > 0) facts.push(`${plural(health.unwatched, 'folder')} polled`);
  if (health.set_aside_count > 0)
    facts.push(`${plural(health.set_aside_count, 'file')} set aside: see tacho watch --status`);
  if (health.reconciled_ms !== null)
    facts.push(`all folders looked at ${durationText(Date.now() - health.reconciled_ms)} ago`);
  if (health.live) facts.push(liveText(health.live));
  const away = health.live != null && (!health.live.connected || health.live.refused > 0);
  const ok = !stalled && !away && health.set_aside_count === 0 ? true : null;
  return { name, ok, detail: facts.join('; ') };
}
