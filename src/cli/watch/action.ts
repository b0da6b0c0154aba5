/** Runs `tacho watch`. */
import type { Imported } from '../../app/sessions/import.ts';
import { findStrays, straysText } from '../../app/sessions/strays.ts';
import { retentionLines, retentionReport, storedIn } from '../../app/watch/retention-report.ts';
import { followedAgents, watchSessions } from '../../app/watch/watch.ts';
import { TachoError } from '../../lib/errors.ts';
import { plural } from '../../lib/figures.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { openStateDir, resolveStateDir } from '../../store/state-dir.ts';
import type { Io } from '../command.ts';
import { ProgressLine } from '../progress-line.ts';
import { sessionText } from '../session-line.ts';

export interface WatchFlags {
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

export async function watchCommand(
  agents: readonly string[],
  flags: WatchFlags,
  io: Io,
): Promise<number> {
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
