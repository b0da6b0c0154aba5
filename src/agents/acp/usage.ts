/** Token figures. Agents agree on the fields, but not on whether `inputTokens` includes cached tokens. */
import { type Drafts, Writer } from '../kit/drafts.ts';
import { costOf, type Inside, nativeOf, type Open, textOf, tokensOf } from '../kit/native.ts';
import { add, isEmpty, type Spent, spent } from '../kit/usage.ts';
import { nativesOf, type Result, type Update } from './protocol.ts';

/** Scope of `usage` in a prompt's answer: the prompt, the session so far, or only the last request to the model. */
export type UsageScope = 'prompt' | 'session' | 'request';

/** If the total is only input plus output, the input includes the cached tokens. */
function ofProtocol(usage: Inside<Result['usage']>): Spent {
  const whole = tokensOf(usage.inputTokens);
  const output = tokensOf(usage.outputTokens);
  const cache_read = tokensOf(usage.cachedReadTokens);
  const cache_write = tokensOf(usage.cachedWriteTokens);
  const cached = (cache_read ?? 0) + (cache_write ?? 0);
  const inside = whole !== null && tokensOf(usage.totalTokens) === whole + (output ?? 0);
  const input = inside ? Math.max(0, whole - cached) : whole;
  const reasoning = tokensOf(usage.thoughtTokens);
  return spent({ input, output, cache_read, cache_write, reasoning });
}

/** Usage of the run so far. Figures of requests and prompts are added; figures of a session replace earlier ones. */
export class Spending extends Writer {
  /** Session figures then include earlier runs. */
  readonly #resumed: boolean;
  #sum = spent();
  #model: string | null = null;

  constructor(to: Drafts, resumed: boolean) {
    super(to);
    this.#resumed = resumed;
  }

  /** `_meta.usage` of a chunk: one request to the model. */
  request(meta: Open | null): void {
    const usage = nativeOf(meta?.usage);
    if (usage !== null) this.#add(ofProtocol(usage));
  }

  prompt(result: Result, scope: UsageScope): void {
    const quota = nativeOf(nativeOf(result._meta)?.quota);
    const count = nativeOf(quota?.token_count);
    const models = nativesOf(quota?.model_usage);
    if (models.length === 1) this.#model = textOf(models[0]?.model);
    const usage = nativeOf(result.usage);
    if (count !== null) {
      const [input, output] = [tokensOf(count.input_tokens), tokensOf(count.output_tokens)];
      this.#add(spent({ input, output }));
    } else if (usage === null || scope === 'request') return;
    else if (scope === 'prompt') this.#add(ofProtocol(usage));
    else if (!this.#resumed) {
      const whole = ofProtocol(usage);
      if (isEmpty(whole)) return;
      this.#sum = { ...whole, cost_usd: this.#sum.cost_usd };
      this.#report();
    }
  }

  /** `usage_update`: how full the context is, which is not usage, and the session's cost. */
  update(update: Update): void {
    const cost = nativeOf(update.cost);
    const amount = cost?.currency === 'USD' ? costOf(cost.amount) : null;
    if (this.#resumed || amount === null || amount === this.#sum.cost_usd) return;
    this.#sum.cost_usd = amount;
    this.#report();
  }

  #add(more: Spent): void {
    add(this.#sum, more);
    if (!isEmpty(spent(this.#sum.usage))) this.#report();
  }

  #report(): void {
    this.to.usage('total', spent(this.#sum.usage, this.#sum.cost_usd), this.#model);
  }
}
