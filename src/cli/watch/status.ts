/** `tacho watch --status`. */
import { type Health, liveText, type WatchStatus, watchStatus } from '../../app/watch/health.ts';
import type { NotifyStatus } from '../../app/watch/notify.ts';
import { durationText, plural } from '../../lib/figures.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import { openStateDir } from '../../store/state-dir.ts';
import type { Io } from '../command.ts';

const SHOWN = 10;

export async function printStatus(state_dir: string, json: boolean, io: Io): Promise<number> {
  const status = watchStatus(openStateDir(state_dir));
  if (json) await io.out.json(`${JSON.stringify(status)}\n`);
  else if (status.running) await io.out.write(runningText(status));
  else await io.out.write(stoppedText(status.health));
  return status.running ? 0 : 1;
}

const ago = (ms: number | null) =>
  ms === null ? 'never' : `${durationText(Math.max(0, Date.now() - ms))} ago`;

function runningText({ health, stalled }: WatchStatus): string {
  if (health === null) return 'A watcher is starting.\n';
  const { pid, started_ms, sessions, agents, waiting, lag_ms, reconciled_ms, unwatched } = health;
  const lines = [
    `Watching: process ${pid}, started ${ago(started_ms)}`,
    `Sessions: ${sessions} of ${agents.join(', ')}${waiting === 0 ? '' : `; ${waiting} wait`}`,
    `Delay: ${lag_ms === null ? 'nothing changed in the last minute' : `at most ${durationText(lag_ms)} in the last minute`}`,
    `All folders were looked at ${ago(reconciled_ms)}`,
  ];
  if (stalled) lines.splice(1, 0, `Stalled: its last report was ${ago(health.written_ms)}`);
  if (health.live) lines.push(`Live: ${forTerminal(liveText(health.live))}`);
  if (health.notified) lines.push(notifiedText(health.notified));
  if (unwatched > 0) lines.push(`${plural(unwatched, 'folder')} polled, because watching failed`);
  return `${lines.join('\n')}\n${setAside(health)}${straysIn(health)}`;
}

function notifiedText({ sent, failed, held_back, last_failure }: NotifyStatus): string {
  const why = last_failure === null ? '' : `; last failure: ${forTerminal(last_failure)}`;
  return `Notifications: ${sent} sent, ${failed} failed, ${held_back} held back${why}`;
}

function stoppedText(health: Health | null): string {
  const start = 'Start one with: tacho watch, or tacho watch --install\n';
  if (health === null) return `No watcher runs. ${start}`;
  return `No watcher runs; the last one was seen ${ago(health.written_ms)}. ${start}${setAside(health)}`;
}

/** Health that an earlier version wrote has none. */
function straysIn({ strays = [], strays_count = 0 }: Partial<Health>): string {
  if (strays_count === 0) return '';
  const more = strays_count > strays.length ? [`  and ${strays_count - strays.length} more`] : [];
  const head = `${plural(strays_count, 'file')} with unknown names, not imported:`;
  return `${[head, ...strays.map((path) => `  ${forTerminal(path)}`), ...more].join('\n')}\n`;
}

function setAside({ set_aside, set_aside_count }: Health): string {
  if (set_aside_count === 0) return '';
  const lines = set_aside
    .slice(0, SHOWN)
    .map(({ path, why }) => `  ${forTerminal(`${path}: ${why}`)}`);
  const more = set_aside_count > SHOWN ? [`  and ${set_aside_count - SHOWN} more`] : [];
  const head = `${plural(set_aside_count, 'file')} set aside until they change:`;
  return `${[head, ...lines, ...more].join('\n')}\n`;
}
