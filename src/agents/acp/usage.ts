/** Token figures. Speakers agree on the fields, not on whether `inputTokens` counts what came from the cache. */
import type { Draft } from '../../model/draft.ts';
import type { Usage } from '../../model/parts.ts';
import { costOf, type Native, nativeOf, nativesOf, textOf, tokensOf } from './native.ts';
import type { UsageScope } from './records.ts';

const FIGURES = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const;
const NOTHING: Usage = {
  input: null,
  output: null,
  cache_read: null,
  cache_write: null,
  reasoning: null,
};

/** The total tells: where it is input and output alone, the cached tokens are inside the input. */
function ofProtocol(usage: Native): Usage {
  const whole = tokensOf(usage.inputTokens);
  const output = tokensOf(usage.outputTokens);
  const cache_read = tokensOf(usage.cachedReadTokens);
  const cache_write = tokensOf(usage.cachedWriteTokens);
  const cached = (cache_read ?? 0) + (cache_write ?? 0);
  const inside = whole !== null && tokensOf(usage.totalTokens) === whole + (output ?? 0);
  const input = inside ? Math.max(0, whole - cached) : whole;
  return { input, output, cache_read, cache_write, reasoning: tokensOf(usage.thoughtTokens) };
}

function ofQuota(count: Native): Usage {
  return { ...NOTHING, input: tokensOf(count.input_tokens), output: tokensOf(count.output_tokens) };
}

function isEmpty(usage: Usage): boolean {
  return FIGURES.every((name) => usage[name] === null);
}

/** What the run has used so far: figures of requests and prompts add up, those of a session replace. */
export class Spending {
  #tokens: Usage = NOTHING;
  #cost: number | null = null;
  #model: string | null = null;
  readonly #resumed: boolean;

  /** `resumed`: what counts the session counts earlier runs too. */
  constructor(resumed: boolean) {
    this.#resumed = resumed;
  }

  /** `_meta.usage` of a chunk: one request to the model. */
  request(meta: unknown, at_ms: number | undefined, out: Draft[]): void {
    const usage = nativeOf(nativeOf(meta)?.usage);
    if (usage !== null) this.#add(ofProtocol(usage), at_ms, out);
  }

  /** The answer to a prompt. */
  prompt(result: Native, scope: UsageScope, at_ms: number | undefined, out: Draft[]): void {
    const quota = nativeOf(nativeOf(result._meta)?.quota);
    const count = nativeOf(quota?.token_count);
    const models = nativesOf(quota?.model_usage);
    if (models.length === 1) this.#model = textOf(models[0]?.model);
    const usage = nativeOf(result.usage);
    if (count !== null) this.#add(ofQuota(count), at_ms, out);
    else if (usage === null || scope === 'request') return;
    else if (scope === 'prompt') this.#add(ofProtocol(usage), at_ms, out);
    else if (!this.#resumed) this.#set(ofProtocol(usage), at_ms, out);
  }

  /** `usage_update`: how full the context is, which is no spending, and the session's cost. */
  update(update: Native, at_ms: number | undefined, out: Draft[]): void {
    const cost = nativeOf(update.cost);
    const amount = cost?.currency === 'USD' ? costOf(cost.amount) : null;
    if (this.#resumed || amount === null || amount === this.#cost) return;
    this.#cost = amount;
    this.#report(at_ms, out);
  }

  #add(usage: Usage, at_ms: number | undefined, out: Draft[]): void {
    const sum = { ...this.#tokens };
    for (const name of FIGURES) {
      const more = usage[name];
      if (more !== null) sum[name] = (sum[name] ?? 0) + more;
    }
    this.#set(sum, at_ms, out);
  }

  #set(usage: Usage, at_ms: number | undefined, out: Draft[]): void {
    if (isEmpty(usage)) return;
    this.#tokens = usage;
    this.#report(at_ms, out);
  }

  #report(at_ms: number | undefined, out: Draft[]): void {
    const usage = { ...this.#tokens };
    const data = { mode: 'total' as const, usage, cost_usd: this.#cost, model: this.#model };
    out.push({ kind: 'usage_reported', at_ms, data });
  }
}
