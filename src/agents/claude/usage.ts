/** Token and cost figures as the CLI spells them, and the cost of one run of a session. */
import { type Drafts, type Time, Writer } from '../kit/drafts.ts';
import { costOf, nativeOf, type Open, tokensOf } from '../kit/native.ts';
import { add, isEmpty, minus, type Spent, spent } from '../kit/usage.ts';
import type { Session } from './generated/native.ts';
import type { Result } from './records.ts';

/** `{ <model>: { inputTokens, …, costUSD } }`, summed over all models. The CLI reports no models for 0. */
function ofModels(models: Open): Spent {
  const names = Object.keys(models);
  const sum = spent();
  for (const name of names) {
    const figures = nativeOf(models[name]);
    if (figures === null) continue;
    const usage = {
      input: tokensOf(figures.inputTokens),
      output: tokensOf(figures.outputTokens),
      cache_read: tokensOf(figures.cacheReadInputTokens),
      cache_write: tokensOf(figures.cacheCreationInputTokens),
      reasoning: tokensOf(figures.thinkingTokens),
    };
    add(sum, { usage, cost_usd: costOf(figures.costUSD) });
  }
  if (names.length > 0) return sum;
  return spent({ input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0 }, 0);
}

/** `usage` of a message or a result, with the API's own names. It has no cost. */
function ofApi(usage: Open): Spent {
  return spent({
    input: tokensOf(usage.input_tokens),
    output: tokensOf(usage.output_tokens),
    cache_read: tokensOf(usage.cache_read_input_tokens),
    cache_write: tokensOf(usage.cache_creation_input_tokens),
    reasoning: tokensOf(nativeOf(usage.output_tokens_details)?.thinking_tokens),
  });
}

/** The cost of each turn. `total_cost_usd` and `modelUsage` include the earlier runs of a resumed session. */
export class Spending {
  #total_before: number | null = null;

  of(result: Result): Spent {
    const before = this.#total_before;
    this.#total_before = costOf(result.total_cost_usd) ?? before;
    const since = nativeOf(result.model_usage_since_last_result);
    if (since) return ofModels(since);
    const usage = nativeOf(result.usage);
    const turn = usage ? ofApi(usage) : spent();
    turn.cost_usd = turnCost(result, turn, before);
    return turn;
  }
}

function turnCost(result: Result, turn: Spent, before: number | null): number | null {
  const total = costOf(result.total_cost_usd);
  if (total === null) return null;
  if (before !== null) return total >= before ? total - before : null;
  const models = nativeOf(result.modelUsage);
  // More tokens in total than in this turn: from earlier runs or sub-agents, and nothing shows which.
  return total === 0 || !models || sameTokens(ofModels(models), turn) ? total : null;
}

function sameTokens({ usage: a }: Spent, { usage: b }: Spent): boolean {
  const same = a.input === b.input && a.output === b.output;
  return same && a.cache_read === b.cache_read && a.cache_write === b.cache_write;
}

interface Message {
  readonly key: string;
  readonly usage: Open;
  readonly stop_reason: unknown;
  readonly model: string | null;
  readonly at_ms: Time;
  readonly parent: string | null;
}

interface Held extends Message {
  /** The figures of the message that were reported as a part of the total. */
  reported: Spent | null;
}

/** The root agent's name among the speakers. */
export const ROOT = '';

/**
 * The cost of a session file: from the CLI's cumulative figures if any, otherwise from the messages. Of the last run, or of
 * all runs. Each message is also reported by itself, as a part of the total.
 */
export class SessionSpending extends Writer {
  readonly #all_runs: boolean;
  /** Cumulative over the session's runs. */
  #latest: Spent | null = null;
  #before: Spent | null = null;
  /** `#before` is the figure at the start of this run, whatever follows. */
  #before_is_sure = false;
  /** Sum of the messages since the latest cumulative figure. */
  #sum = spent();
  /** The message of each file that may still get its final usage. Every block repeats the usage; the last counts. */
  readonly #pending = new Map<string, Held>();
  /** Nothing was said since the latest cumulative figure: on a terminal, the CLI writes it twice when it exits. */
  #repeated = false;
  /** A run began after the latest cumulative figure, so the figure does not include it. */
  #unpaid = false;
  /** The session began as a copy of another session, without that session's figures. */
  #forked = false;

  constructor(to: Drafts, all_runs: boolean) {
    super(to);
    this.#all_runs = all_runs;
  }

  costState(record: Session['cost-state'], earlier: boolean): void {
    const models = nativeOf(record.modelUsage);
    if (!models) return;
    const state = ofModels(models);
    const total = costOf(record.totalCostUSD);
    if (total !== null) state.cost_usd = total;
    if (earlier) {
      this.#before = state;
      this.#before_is_sure = true;
      return;
    }
    // It includes the runs of the copied session. Only the messages show the figures of this run.
    const shared = this.#forked && !this.#before_is_sure;
    if (shared && (this.#all_runs || this.#latest === null)) {
      this.#unpaid = true;
      if (!this.#all_runs) this.#latest = state;
      return;
    }
    if (!this.#before_is_sure && !this.#all_runs && !this.#repeated) this.#before = this.#latest;
    this.#repeated = true;
    this.#latest = state;
    this.#unpaid = false;
    for (const message of this.#pending.values()) this.#report(message);
    this.#sum = spent();
    this.#pending.clear();
    // The cost of a session on several days belongs to each of them.
    if (this.#all_runs) this.to.usage('total', minus(state, this.#before));
  }

  /** A message copied from the session that this one forks. */
  inherited(): void {
    this.#forked = true;
  }

  prompted(): void {
    this.#repeated = false;
    this.#unpaid = true;
  }

  /** `file`: the speaker; the blocks of one speaker follow each other. */
  message(file: string, message: Message): void {
    this.#repeated = false;
    const held = this.#pending.get(file);
    const same = held?.key === message.key;
    if (held && !same) this.#count(held);
    const now = { ...message, reported: same ? held.reported : null };
    this.#pending.set(file, now);
    // The figures of an unfinished message count only if it is not aborted.
    if (typeof message.stop_reason === 'string') this.#report(now);
  }

  #count(message: Held): void {
    add(this.#sum, ofApi(message.usage));
    this.#report(message);
  }

  /** The line that has the figures is the one that is being read, unless the message was unfinished. */
  #report(message: Held): void {
    const { usage, model, at_ms, parent, reported } = message;
    const figures = ofApi(usage);
    const news = minus(figures, reported);
    if (isEmpty(news) || (reported && Object.values(news.usage).every((figure) => !figure))) return;
    message.reported = figures;
    const by = parent === null ? {} : { parent_call_id: parent };
    this.to.put('usage_reported', { mode: 'add', ...news, model, ...by }, at_ms);
  }

  /** An aborted message has the figures of its beginning. The CLI omits them too. */
  interrupted(): void {
    if (this.#pending.get(ROOT)?.stop_reason === null) this.#pending.delete(ROOT);
  }

  total(): Spent | null {
    if (this.#latest && !this.#unpaid) return minus(this.#latest, this.#before);
    const sum = spent();
    add(sum, this.#sum);
    // Not counted: the session may continue after this end.
    for (const message of this.#pending.values()) {
      add(sum, ofApi(message.usage));
      this.#report({ ...message });
    }
    if (this.#all_runs && this.#latest) {
      add(sum, minus(this.#latest, this.#before));
      // Messages have no cost.
      sum.cost_usd = null;
    }
    return isEmpty(sum) ? null : sum;
  }
}
