/** Token figures in the CLI's spelling. A figure that no record gives is null, never 0. Its `cost` is premium requests, not money. */
import type { Draft } from '../../model/draft.ts';
import type { Usage } from '../../model/parts.ts';
import { idOf, isNative, type Native, nativeOf, problem, tokensOf } from './native.ts';

/** `inputTokens` counts what was read from and written to the cache too. */
function usageOf(figures: Native): Usage | null {
  const all = tokensOf(figures.inputTokens);
  const cache_read = tokensOf(figures.cacheReadTokens);
  const cache_write = tokensOf(figures.cacheWriteTokens);
  const usage = {
    input: all === null ? null : Math.max(0, all - (cache_read ?? 0) - (cache_write ?? 0)),
    output: tokensOf(figures.outputTokens),
    cache_read,
    cache_write,
    reasoning: tokensOf(figures.reasoningTokens),
  };
  return Object.values(usage).every((figure) => figure === null) ? null : usage;
}

const UNKNOWN: Readonly<Usage> = {
  input: null,
  output: null,
  cache_read: null,
  cache_write: null,
  reasoning: null,
};

export class Spending {
  /** The kind of record that told tokens first: another kind repeats it. */
  #source: string | null = null;
  /** The session holds earlier runs, and its totals are theirs too. */
  #shared = false;

  /** One call's figures: `session.usage_record` in the file, `assistant.usage` for programs on the SDK. */
  call(type: string, data: Native, at_ms: number | undefined, out: Draft[]): void {
    const figures = nativeOf(data.usage) ?? data;
    const usage = usageOf(figures);
    if (usage === null) {
      out.push(problem('bad_record', `${type} without figures`));
      return;
    }
    this.#source ??= type;
    if (this.#source !== type) return;
    const spent = { mode: 'add' as const, usage, cost_usd: null, model: idOf(figures.model) };
    out.push({ kind: 'usage_reported', at_ms, data: spent });
  }

  /** The end record's figures are the session's: used only where no call told its own and no run came before. */
  total(data: Native, at_ms: number | undefined, out: Draft[]): void {
    if (this.#source !== null || this.#shared) return;
    for (const [model, metrics] of Object.entries(nativeOf(data.modelMetrics) ?? {})) {
      const figures = isNative(metrics) ? nativeOf(metrics.usage) : null;
      const usage = figures === null ? null : usageOf(figures);
      if (usage === null) continue;
      this.#source = 'session.shutdown';
      const spent = { mode: 'add' as const, usage, cost_usd: null, model };
      out.push({ kind: 'usage_reported', at_ms, data: spent });
    }
  }

  earlierRun(): void {
    this.#shared = true;
  }

  /** A new run begins: what was told so far is not its own. */
  startOver(at_ms: number | undefined, out: Draft[]): void {
    this.#shared = true;
    if (this.#source === null) return;
    this.#source = null;
    const nothing = { mode: 'total' as const, usage: { ...UNKNOWN }, cost_usd: null, model: null };
    out.push({ kind: 'usage_reported', at_ms, data: nothing });
  }
}
