/** Delivers messages that a killed or disconnected sender left in the outbox (LP-8). */

import { systemClock } from '../../lib/clock.ts';
import { plural } from '../../lib/figures.ts';
import type { Outbox } from '../../store/outbox/file.ts';
import type { OutboxTarget } from '../../store/outbox/lines.ts';
import { listOutboxes, takeOutbox } from '../../store/outbox/outbox.ts';
import { isOwnTarget } from '../config/own-state.ts';
import { APP_LIMITS } from '../limits.ts';
import { livePaths } from './paths.ts';
import type { LiveSender, Undelivered } from './sender.ts';

export interface DeliverOptions {
  /** A session that another sender delivers. */
  except?: string | undefined;
  /**
   * The destination of this command's own flags. Other destinations must be named by the user before, for this state
   * folder.
   */
  target?: OutboxTarget | null | undefined;
  /** Called with each destination before connecting, and with those that are skipped. */
  say(text: string): void;
}

/**
 * Starts immediately, in the background. Contract: the state folder is the user's own (`mayAct`). Never throws and
 * never rejects. An unavailable collector does not delay messages for others.
 */
export function deliver(state_dir: string, options: DeliverOptions) {
  const stop = new AbortController();
  const work: Work = { signal: stop.signal, under_way: new Set(), delivered: [], left: [] };
  const done = deliverAll(state_dir, work, options)
    .catch(() => {})
    .then(() => ({ delivered: work.delivered, left: work.left }));
  return {
    /** Resolves when everything deliverable is delivered, or nothing more is tried. */
    done,
    /** Waits at most this long, then gives up until the next time. */
    async finish(wait_ms: number) {
      const timers = [
        setTimeout(() => stop.abort(), wait_ms),
        setTimeout(() => {
          if (![...work.under_way].some(({ connected }) => connected)) stop.abort();
        }, APP_LIMITS.live_deliver_away_ms),
      ];
      try {
        return await done;
      } finally {
        for (const timer of timers) clearTimeout(timer);
      }
    },
  };
}

interface Work {
  signal: AbortSignal;
  under_way: Set<LiveSender>;
  delivered: { session_id: string; messages: number }[];
  left: Undelivered[];
}

/** Leaves the outbox for the next tacho. */
function giveBack(outbox: Outbox, { left }: Work): void {
  left.push(leftOf(outbox));
  outbox.close();
}

async function deliverAll(state_dir: string, work: Work, options: DeliverOptions) {
  const taken = listOutboxes(livePaths(state_dir).outbox)
    .map((path) => takeOutbox(path))
    .filter((outbox) => outbox !== null)
    .filter((outbox) => wanted(outbox, options.except));
  // By collector, so that an unavailable one delays only its own messages; a pipe takes one connection at a time.
  const groups = Map.groupBy(taken, ({ target }) => JSON.stringify(target));
  await Promise.all(
    [...groups.values()].map(async (group) => {
      if (!announced(state_dir, group, options)) {
        for (const outbox of group) giveBack(outbox, work);
        return;
      }
      // The collector is unavailable: the other outboxes are released too, so that their sessions can be continued.
      let away = false;
      for (const outbox of group) {
        if (work.signal.aborted || away) giveBack(outbox, work);
        else away = (await deliverOne(outbox, work)) === 'away';
      }
    }),
  );
}

/** Announces where the messages of a group are sent. False if the user never named that destination. */
function announced(state_dir: string, group: Outbox[], { target, say }: DeliverOptions): boolean {
  const [{ target: wanted_target }] = group as [Outbox];
  const { url, token_file, ca } = wanted_target;
  const messages = group.reduce((sum, outbox) => sum + leftOf(outbox).messages, 0);
  const many = `${plural(messages, 'message')} left in the outbox`;
  const named = target?.url === url && target.token_file === token_file && target.ca === ca;
  if (named || isOwnTarget(state_dir, wanted_target)) {
    say(`note: sending ${many} to ${url}`);
    return true;
  }
  const flags = [
    `--live or --to ${url}`,
    ...(token_file === null ? [] : [`--live-token-file or --token-file ${token_file}`]),
    ...(ca === null ? [] : [`--live-ca or --ca ${ca}`]),
  ];
  say(
    `warning: ${many} not sent to ${url}, which you did not name for this state folder: if you trust it, send them with the flags ${flags.join(', ')}`,
  );
  return false;
}

/** Idle outboxes are released immediately, and removed if their session was not continued for long. */
function wanted(outbox: Outbox, except: string | undefined): boolean {
  const nothing = outbox.acked >= outbox.last_seq && !outbox.ended;
  // Our own standard streams are not its destination.
  const nowhere = outbox.target.url === 'stdio:' || outbox.session_id === except;
  if (!nothing && !nowhere) return true;
  const idle_ms = systemClock.now() - outbox.changed_ms;
  if (nothing && idle_ms > APP_LIMITS.live_outbox_idle_ms) outbox.remove();
  else outbox.close();
  return false;
}

const leftOf = ({ session_id, last_seq, first_seq, acked }: Outbox): Undelivered => ({
  session_id,
  messages: last_seq - Math.max(acked, first_seq - 1),
  refused: null,
  path: null,
});

/** A separate connection for each, so that a refused one does not affect the others. */
async function deliverOne(outbox: Outbox, work: Work): Promise<'away' | 'tried'> {
  const { session_id, target, first_seq, last_seq } = outbox;
  const { LiveSender } = await import('./sender.ts');
  const lost = new AbortController();
  try {
    const live = new LiveSender({
      ...target,
      outbox: '',
      onNotice: ({ kind }) => {
        if (kind === 'lost') lost.abort();
      },
    });
    live.adopt(outbox);
    work.under_way.add(live);
    const stop = AbortSignal.any([work.signal, lost.signal]);
    await Promise.race([live.settled(APP_LIMITS.timeout_ms_max), aborted(stop)]);
    work.under_way.delete(live);
    const left = await live.close();
    if (left.length === 0) work.delivered.push({ session_id, messages: last_seq - first_seq + 1 });
    work.left.push(...left);
    return lost.signal.aborted ? 'away' : 'tried';
  } catch {
    // An unparsable target or a missing token: a later process may succeed.
    giveBack(outbox, work);
    return 'tried';
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
