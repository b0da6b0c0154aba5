/** Runs `tacho watch`. */
import { sendingTo } from '../../app/live/destination.ts';
import type { Imported } from '../../app/sessions/imported.ts';
import { findStrays, straysText } from '../../app/sessions/strays.ts';
import { retentionLines, retentionReport, storedIn } from '../../app/watch/retention-report.ts';
import { followedAgents, watchSessions } from '../../app/watch/watch.ts';
import { TachoError } from '../../lib/errors.ts';
import { plural } from '../../lib/figures.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { openStateDir, resolveStateDir } from '../../store/state-dir.ts';
import type { Io } from '../command.ts';
import { warnInsecure } from '../insecure.ts';
import { ProgressLine } from '../progress-line.ts';
import { type LiveFlags, liveOf, sayOfLive } from '../run-options.ts';
import { sessionText, stateText } from '../session-line.ts';

export interface WatchFlags extends LiveFlags {
  once?: true;
  metadataOnly?: true;
  status?: true;
  install?: true;
  uninstall?: true;
  yes?: true;
  json?: true;
  redact?: string[];
}

const CHANGES = new Set<Imported['state']>(['imported', 'grown']);

/** `--live` may be followed by an agent: a collector's URL has a colon. */
function withoutAgentInLive(agents: readonly string[], flags: WatchFlags) {
  const { live } = flags;
  if (typeof live !== 'string' || live.includes(':')) return { agents, flags };
  return { agents: [live, ...agents], flags: { ...flags, live: true as const } };
}

export async function watchCommand(
  given_agents: readonly string[],
  given: WatchFlags,
  io: Io,
): Promise<number> {
  const { agents, flags } = withoutAgentInLive(given_agents, given);
  const state_dir = resolveStateDir({ flag: io.state_flag, env: io.env });
  const modes = [flags.once, flags.status, flags.install, flags.uninstall].filter(Boolean);
  if (modes.length > 1)
    throw new TachoError('usage', 'give only one of --once, --status, --install and --uninstall', {
      stage: 'request',
    });
  if (flags.status) {
    const { printStatus } = await import('./status.ts');
    return printStatus(state_dir, flags.json === true, io);
  }
  if (flags.install || flags.uninstall) {
    const { changeService } = await import('./service.ts');
    return changeService(agents, flags, state_dir, io);
  }
  return follow(agents, flags, state_dir, io);
}

async function follow(
  agents: readonly string[],
  flags: WatchFlags,
  state_dir: string,
  io: Io,
): Promise<number> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => stop.abort());
  const live = liveOf(flags) ?? null;
  if (live !== null) await warnInsecure((await sendingTo(live, state_dir)).url, io);
  const progress = new ProgressLine(io);
  const counts = { stored: 0, failed: 0, looked: 0 };
  let first = true;
  await watchSessions({
    state_dir,
    env: io.env,
    agents,
    redact: flags.redact ?? [],
    metadata_only: flags.metadataOnly === true,
    once: flags.once === true,
    live,
    say: sayOfLive(io),
    signal: stop.signal,
    took(imported, left) {
      counts.looked += 1;
      const { agent, prompt } = imported;
      const all = counts.looked + left;
      if (first)
        progress.note(() => `${counts.looked} of ${all} sessions: ${agent} ${prompt ?? ''}`);
      if (imported.state === 'failed') {
        counts.failed += 1;
        progress.clear();
        void io.err.write(`warning: not imported: ${forTerminal(imported.why ?? imported.path)}\n`);
      }
      if (!CHANGES.has(imported.state)) return;
      counts.stored += 1;
      if (flags.json) void io.out.json(`${JSON.stringify(imported)}\n`);
      else if (!first) void io.out.write(sessionText(imported));
    },
    stated(stated) {
      if (flags.json) void io.out.json(`${JSON.stringify(stated)}\n`);
      else void io.out.write(stateText(stated));
    },
    async caughtUp() {
      first = false;
      progress.clear();
      const strays = await findStrays(await followedAgents(agents), io.env);
      await io.err.write(straysText(strays, forTerminal));
      if (flags.json) return;
      const failed = counts.failed === 0 ? '' : `, ${counts.failed} not readable`;
      await io.out.write(`${plural(counts.stored, 'session')} stored${failed}\n`);
      await io.out.write(await retentionText(state_dir, io));
      if (!flags.once) await io.out.write('Watching. Ctrl-C stops it.\n');
    },
  });
  return counts.failed > 0 && flags.once ? 1 : 0;
}

async function retentionText(state_dir: string, io: Io): Promise<string> {
  using index = openIndex(openStateDir(state_dir));
  const report = await retentionReport({
    env: io.env,
    now_ms: Date.now(),
    isStored: storedIn(index),
  });
  return retentionLines(report)
    .map((line) => `${line}\n`)
    .join('');
}
