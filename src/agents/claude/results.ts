/** The end record of stdout: how the turn ended and what it cost. */
import type { DataOf } from '../../model/event.ts';
import type { ExitReason } from '../../model/words.ts';
import { costOf, type Native, namesOf, nativeOf, statusOf, textOf } from './native.ts';
import { nothing, ofApi, ofModels, type Spent, sameTokens } from './usage.ts';

/** `subtype` is "success" for API errors, and the exit code is 0 after an interruption: neither decides alone. */
function reasonOf(result: Native, provider_failed: boolean): ExitReason {
  const terminal = textOf(result.terminal_reason) ?? '';
  const subtype = textOf(result.subtype) ?? '';
  const failed = result.is_error === true || subtype.startsWith('error');
  if (isAborted(result)) return 'cancelled';
  if (subtype === 'error_max_turns' || terminal === 'max_turns') return 'max_steps';
  if (subtype.startsWith('error_max_budget') || terminal.includes('budget')) {
    return 'budget_exceeded';
  }
  if (terminal === 'api_error') return 'provider_error';
  if (failed && (provider_failed || statusOf(result.api_error_status) !== null)) {
    return 'provider_error';
  }
  return failed ? 'agent_error' : 'ok';
}

/** `provider_failed`: the last thing told was a failure of the API; earlier versions' end records do not name it. */
export function endOf(result: Native, provider_failed: boolean): DataOf<'agent_ended'> {
  const exit_reason = reasonOf(result, provider_failed);
  const errors = namesOf(result.errors) ?? [];
  const said = errors.length > 0 ? errors.join('\n') : textOf(result.result);
  return { exit_reason, error: exit_reason === 'ok' ? null : said, evidence: 'native_result' };
}

export function isAborted(result: Native): boolean {
  return textOf(result.terminal_reason)?.startsWith('aborted') ?? false;
}

/** The only model of the run; null when the record names none or several. */
export function onlyModel(result: Native): string | null {
  const models = Object.keys(nativeOf(result.modelUsage) ?? {});
  return models.length === 1 ? (models[0] ?? null) : null;
}

/** What each turn cost. `total_cost_usd` and `modelUsage` hold the earlier runs of a resumed session too. */
export class Spending {
  #total_before: number | null = null;

  of(result: Native): Spent {
    const before = this.#total_before;
    this.#total_before = costOf(result.total_cost_usd) ?? before;
    const since = nativeOf(result.model_usage_since_last_result);
    if (since) return ofModels(since);
    const usage = nativeOf(result.usage);
    const spent = usage ? ofApi(usage) : nothing();
    spent.cost_usd = turnCost(result, spent, before);
    return spent;
  }
}

function turnCost(result: Native, turn: Spent, before: number | null): number | null {
  const total = costOf(result.total_cost_usd);
  if (total === null) return null;
  if (before !== null) return total >= before ? total - before : null;
  const models = nativeOf(result.modelUsage);
  // More tokens in all than in this turn: earlier runs or sub-agents, and nothing tells which.
  const whole = total === 0 || !models || sameTokens(ofModels(models).usage, turn.usage);
  return whole ? total : null;
}
