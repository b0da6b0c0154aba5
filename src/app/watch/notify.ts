/**
 * Notifications about runs that are followed (WA-16). Contract: no method throws or waits. A rule notifies once per run
 * and change. A second notification about the same run waits for the rule's interval, and is dropped if its state is no longer
 * true then. Failures are counted. The texts of a run are given as they are stored: without secrets.
 */
import { homeFolder } from '../../lib/home.ts';
import type { Event } from '../../model/event.ts';
import { APP_LIMITS } from '../limits.ts';
import { type ActionContext, post, runProgram, showOnDesktop } from './notify-actions.ts';
import { NotifyMemory } from './notify-memory.ts';
import type { NotifyRule } from './notify-rules.ts';
import { type Notification, type NotifyRun, plain, RuleState } from './notify-state.ts';

export type { Notification, NotifyRun } from './notify-state.ts';

/** Counters since the watcher started. */
export interface NotifyStatus {
  /** Actions that succeeded. */
  sent: number;
  /** Actions that failed. */
  failed: number;
  /** Not sent, because of an interval or the limit per minute. */
  held_back: number;
  /** The last failure; null if there was none. */
  last_failure: string | null;
}

interface NotifyOptions {
  env: NodeJS.ProcessEnv;
  platform?: NodeJS.Platform;
  home?: string;
  /** The reports of earlier watchers. Default: none. */
  memory?: NotifyMemory;
}

export function createNotifier(rules: readonly NotifyRule[], options: NotifyOptions) {
  const { env, platform = process.platform, home = homeFolder() } = options;
  const { memory = new NotifyMemory(null) } = options;
  const stop = new AbortController();
  const context: ActionContext = { env, platform, home, signal: stop.signal };
  const outgoing = new Outgoing(context);
  const watching = rules.map((rule) => new RuleState(rule, outgoing, memory));
  const each = (run: NotifyRun, act: (state: RuleState) => void) => {
    for (const one of watching) if (one.isAbout(run)) act(one);
  };
  return {
    /** The run has this state now. `reason`: the evidence, for people. */
    state: (run: NotifyRun, state: string, reason: string | null) =>
      each(run, (one) => one.state(run, state, reason)),
    /** The run has cost this much so far. Null: unknown. */
    cost: (run: NotifyRun, usd: number | null) => each(run, (one) => one.cost(run, usd)),
    /** An event of the run. Only calls and changed files are compared with rules. */
    call(run: NotifyRun, event: Event) {
      if (event.kind !== 'call_requested' && event.kind !== 'file_changed') return;
      each(run, (one) => one.call(run, event));
    },
    status: (): NotifyStatus => ({ ...outgoing.status }),
    /** Waits for notifications under way, at most `notify_close_ms`, then ends them. */
    async close(): Promise<void> {
      for (const one of watching) one.close();
      const timer = setTimeout(() => stop.abort(), APP_LIMITS.notify_close_ms);
      await outgoing.idle();
      clearTimeout(timer);
    },
  };
}

/** Starts the actions of a rule, and counts their results. */
class Outgoing {
  readonly status: NotifyStatus = { sent: 0, failed: 0, held_back: 0, last_failure: null };
  readonly #context: ActionContext;
  readonly #pending = new Set<Promise<void>>();
  #minute = 0;
  #in_minute = 0;

  constructor(context: ActionContext) {
    this.#context = context;
  }

  /** False if there are too many: an endless loop must not flood a desktop or a server. */
  send(rule: NotifyRule, notification: Notification): boolean {
    const minute = Math.floor(performance.now() / 60_000);
    if (minute !== this.#minute) [this.#minute, this.#in_minute] = [minute, 0];
    const full = this.#pending.size >= APP_LIMITS.notify_pending_max;
    if (full || this.#in_minute >= APP_LIMITS.notify_per_minute_max) return false;
    this.#in_minute += 1;
    const { desktop, webhook, command } = rule;
    const json = `${JSON.stringify(notification)}\n`;
    const [program, ...args] = command ?? [];
    if (desktop) this.#start(rule, 'desktop', showOnDesktop(notification, this.#context));
    if (webhook !== null) this.#start(rule, 'webhook', post(webhook, json, this.#context));
    if (program !== undefined)
      this.#start(rule, 'command', runProgram([program, ...args], json, this.#context));
    return true;
  }

  async idle(): Promise<void> {
    await Promise.all(this.#pending);
  }

  #start({ name }: NotifyRule, way: string, action: Promise<void>): void {
    const { status } = this;
    const watched = action.then(
      () => {
        status.sent += 1;
      },
      (error: Error) => {
        status.failed += 1;
        status.last_failure = plain(`${name}: ${way}: ${error.message}`);
      },
    );
    const done = watched.finally(() => this.#pending.delete(done));
    this.#pending.add(done);
  }
}
