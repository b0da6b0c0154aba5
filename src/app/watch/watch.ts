/** `tacho watch`: the settings of the user, one watcher per store, and what it reports. */
import { AGENT_IDS, allAgents } from '../../agents/registry.ts';
import { TachoError } from '../../lib/errors.ts';
import type { Agent } from '../../model/agent.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { openJournal } from '../../store/journal/journal.ts';
import { lockFile } from '../../store/kernel-lock.ts';
import { holderOf, takeLock } from '../../store/lock.ts';
import { openStateDir, type StateDir } from '../../store/state-dir.ts';
import { withStoreLock } from '../../store/store-lock.ts';
import { agentOf } from '../config/agent-of.ts';
import { loadUserConfig } from '../config/user-config.ts';
import { type LiveRunConfig, type LiveRunOptions, sendingTo } from '../live/destination.ts';
import { prepare } from '../sessions/import.ts';
import { watchLife, watchLock } from './health.ts';
import { createNotifier } from './notify.ts';
import { NotifyMemory } from './notify-memory.ts';
import { privacyOf } from './privacy.ts';
import type { WatchConfig } from './watch-config.ts';
import type { LiveParts, WatchLive } from './watch-live.ts';
import { Watcher, type Watching } from './watcher.ts';

export interface WatchRequest extends Watching {
  state_dir: string;
  /** Ids of agents. Empty: those of the settings, or all. */
  agents: readonly string[];
  metadata_only: boolean;
  /** The collector that gets everything that is followed. Null: that of the settings, or none. */
  live: LiveRunOptions | null;
  /** Receives problems, for people. */
  say(text: string): void;
}

/** The agents with these ids; if there are none, those of the settings, or all. */
export async function followedAgents(
  ids: readonly string[],
  { agents }: Pick<WatchConfig, 'agents'> = { agents: null },
): Promise<Agent[]> {
  const named = ids.length > 0 ? ids : agents;
  const all = named === null ? await allAgents() : await Promise.all(named.map(agentOf));
  for (const agent of named === null ? [] : all)
    if (agent.session === null)
      throw new TachoError('usage', `${agent.title} has no session files`, { stage: 'request' });
  return all.filter(({ session }) => session !== null);
}

export async function watchSessions(request: WatchRequest): Promise<void> {
  const { env } = request;
  const user = await loadUserConfig(env, AGENT_IDS);
  const agents = await followedAgents(request.agents, user.watch);
  const wanted = request.live ?? user.watch.live;
  const to = wanted && (await sendingTo({ ...wanted, trace: null }, request.state_dir));
  const state = openStateDir(request.state_dir);
  const release = takeLock(watchLock(state));
  if (release === null) throw anotherWatcher(state);
  const alive = lockFile(watchLife(state), 'exclusive');
  using index = openIndex(state);
  const journal = openJournal(state.journal, { index });
  const rules = user.watch.notify;
  const memory = new NotifyMemory(state);
  const notifier = rules.length === 0 ? null : createNotifier(rules, { env, memory });
  let live: WatchLive | null = null;
  let watcher: Watcher | null = null;
  try {
    await withStoreLock(state, {}, () => prepare(state, index));
    live = to && (await liveTo(to, { state, index, say: request.say }));
    watcher = new Watcher({
      ...request,
      agents,
      redact: [...request.redact, ...user.redact],
      privacy: privacyOf(user, request.metadata_only),
      memory,
      notifier,
      live,
      state,
      index,
      journal,
    });
    await watcher.run();
  } finally {
    watcher?.close();
    await live?.close();
    await notifier?.close();
    await journal.close();
    alive?.();
    release();
  }
}

/** Only a watcher that sends loads the code for it. */
async function liveTo(to: LiveRunConfig, parts: LiveParts): Promise<WatchLive> {
  const { WatchLive } = await import('./watch-live.ts');
  return new WatchLive(to, parts);
}

function anotherWatcher(state: StateDir): TachoError {
  const holder = holderOf(watchLock(state));
  const who = holder === null ? 'another process' : `process ${holder.pid} on ${holder.host}`;
  const text = `${who} already watches into ${state.path}; one watcher per store is enough`;
  return new TachoError('busy', text, { stage: 'watch', retryable: true });
}
