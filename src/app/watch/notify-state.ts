/** One rule of `watch.notify` and the runs that it has seen: decides when to notify, and writes the notification. */
import { basename } from 'node:path';
import { RecentMap } from '../../lib/bounded.ts';
import { costText } from '../../lib/figures.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import type { Event } from '../../model/event.ts';
import { APP_LIMITS } from '../limits.ts';
import { createMatcher, type Matcher, namedCall } from './notify-match.ts';
import type { NotifyMemory } from './notify-memory.ts';
import type { NotifyRule } from './notify-rules.ts';
import { matchesPath } from './path-rules.ts';

/** The run of a notification. */
export interface NotifyRun {
  /** Id of the run. */
  run_id: string;
  /** Id of the agent. */
  agent: string;
  /** Path of its project; null if unknown. */
  project: string | null;
  /** Its first prompt; null if unknown. */
  prompt: string | null;
}

/** The JSON that a webhook and a command receive. */
export interface Notification extends NotifyRun {
  schema: 'tacho.notify.v1';
  /** Name of the rule. */
  rule: string;
  /** RFC 3339. */
  at: string;
  what: 'state' | 'cost' | 'call';
  title: string;
  text: string;
  state: string | null;
  reason: string | null;
  cost_usd: number | null;
  call: { seq: number; tool: string; text: string; pattern: string } | null;
  /** Earlier notifications of the rule about the run that were not sent, because of its interval. */
  held_back: number;
}

type News = Pick<Notification, 'what' | 'title' | 'state' | 'reason' | 'cost_usd' | 'call'>;

const NO_NEWS = { state: null, reason: null, cost_usd: null, call: null };

/** A rule's knowledge about one run. */
interface Seen {
  state: string | null;
  sent_ms: number;
  held_back: number;
  waiting: { timer: NodeJS.Timeout; news: News } | null;
}

/** Takes the notifications of a rule. */
interface Sink {
  /** False if there are too many. */
  send(rule: NotifyRule, notification: Notification): boolean;
  status: { held_back: number };
}

/** Foreign text on one line, without control characters. */
export const plain = (text: string) => oneLine(text, APP_LIMITS.notify_text_columns_max);

export class RuleState {
  readonly #rule: NotifyRule;
  readonly #sink: Sink;
  readonly #memory: NotifyMemory;
  readonly #matcher: Matcher;
  readonly #runs = new RecentMap<string, Seen>(APP_LIMITS.notify_runs_max);
  #closed = false;

  constructor(rule: NotifyRule, sink: Sink, memory: NotifyMemory) {
    this.#rule = rule;
    this.#sink = sink;
    this.#memory = memory;
    this.#matcher = createMatcher(rule.calls);
  }

  isAbout({ agent, project }: NotifyRun): boolean {
    const { agents, projects } = this.#rule;
    if (agents.length > 0 && !agents.includes(agent)) return false;
    return projects.length === 0 || (project !== null && matchesPath(projects, project));
  }

  state(run: NotifyRun, state: string, reason: string | null): void {
    if (this.#rule.states.length === 0) return;
    const seen = this.#seen(run);
    if (seen.state === state) return;
    seen.state = state;
    this.#forget(seen);
    if (!(this.#rule.states as readonly string[]).includes(state)) return;
    const title = `${run.agent} is ${state}`;
    this.#notify(run, seen, { ...NO_NEWS, what: 'state', title, state, reason });
  }

  cost(run: NotifyRun, usd: number | null): void {
    const { cost_over } = this.#rule;
    if (cost_over === null || usd === null || usd <= cost_over) return;
    if (this.#memory.isOver(this.#rule.name, run.run_id)) return;
    this.#memory.over(this.#rule.name, run.run_id);
    const seen = this.#seen(run);
    const title = `${run.agent} has cost ${costText(usd)}, over ${costText(cost_over)}`;
    this.#notify(run, seen, { ...NO_NEWS, what: 'cost', title, cost_usd: usd });
  }

  call(run: NotifyRun, event: Event): void {
    if (this.#rule.calls.length === 0) return;
    const named = namedCall(event);
    const match = named === null ? null : this.#matcher(named);
    if (named === null || match === null) return;
    const call = { seq: event.seq, tool: plain(named.tool), ...plainMatch(match) };
    const title = `${run.agent}: ${call.tool} matches ${call.pattern}`;
    this.#notify(run, this.#seen(run), { ...NO_NEWS, what: 'call', title, call });
  }

  close(): void {
    this.#closed = true;
    for (const seen of this.#runs.values()) this.#forget(seen);
  }

  #seen({ run_id }: NotifyRun): Seen {
    const known = this.#runs.get(run_id);
    if (known !== undefined) return known;
    const seen = { state: null, sent_ms: -Infinity, held_back: 0, waiting: null };
    this.#runs.set(run_id, seen);
    return seen;
  }

  /** A state that has changed is no longer news. */
  #forget(seen: Seen): void {
    if (seen.waiting === null || (seen.waiting.news.what !== 'state' && !this.#closed)) return;
    clearTimeout(seen.waiting.timer);
    seen.waiting = null;
  }

  #notify(run: NotifyRun, seen: Seen, news: News): void {
    if (this.#closed) return;
    const wait_ms = seen.sent_ms + this.#rule.interval_ms - performance.now();
    if (wait_ms <= 0 && seen.waiting === null) {
      this.#send(run, seen, news);
      return;
    }
    this.#sink.status.held_back += 1;
    if (seen.waiting !== null) {
      seen.held_back += 1;
      seen.waiting.news = news;
      return;
    }
    const timer = setTimeout(() => {
      const { news: last = news } = seen.waiting ?? {};
      seen.waiting = null;
      this.#sink.status.held_back -= 1;
      this.#send(run, seen, last);
    }, wait_ms).unref();
    seen.waiting = { timer, news };
  }

  #send(run: NotifyRun, seen: Seen, news: News): void {
    seen.sent_ms = performance.now();
    if (this.#sink.send(this.#rule, this.#written(run, seen, news))) seen.held_back = 0;
    else this.#sink.status.held_back += 1;
  }

  #written({ run_id, agent, project, prompt }: NotifyRun, seen: Seen, news: News): Notification {
    const where = project === null ? null : basename(project);
    const parts = [news.call?.text ?? news.reason, prompt, where && `in ${where}`, run_id];
    return {
      schema: 'tacho.notify.v1',
      rule: this.#rule.name,
      at: new Date().toISOString(),
      ...news,
      title: plain(news.title),
      text: plain(parts.filter((part) => part).join(' · ')),
      reason: news.reason && plain(news.reason),
      run_id,
      agent,
      project: project && plain(project),
      prompt: prompt && plain(prompt),
      held_back: seen.held_back,
    };
  }
}

const plainMatch = ({ text, pattern }: { text: string; pattern: string }) => ({
  text: plain(text),
  pattern: plain(pattern),
});
