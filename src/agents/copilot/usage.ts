/** Token figures in the CLI's spelling. Its `cost` is premium requests, not money. */
import { Writer } from '../kit/drafts.ts';
import { type Inside, idOf, nativeOf, tokensOf } from '../kit/native.ts';
import { isEmpty, type Spent, spent, without } from '../kit/usage.ts';
import type { Data } from './records.ts';

type Source = 'assistant.usage' | 'session.usage_record';
type Figures = Inside<Data<'assistant.usage'>['usage']>;

/** `inputTokens` includes tokens read from and written to the cache. */
function spentOf(figures: Figures): Spent {
  const cache_read = tokensOf(figures.cacheReadTokens);
  const cache_write = tokensOf(figures.cacheWriteTokens);
  return spent({
    input: without(tokensOf(figures.inputTokens), cache_read, cache_write),
    output: tokensOf(figures.outputTokens),
    cache_read,
    cache_write,
    reasoning: tokensOf(figures.reasoningTokens),
  });
}

export class Spending extends Writer {
  /** The kind of the first record with tokens. Records of other kinds repeat them. */
  #source: Source | 'session.shutdown' | null = null;
  /** The session includes earlier runs, which its totals count too. */
  shared = false;

  /** Figures of one model call: `session.usage_record` in the file, `assistant.usage` for programs on the SDK. */
  call(source: Source, data: Data<Source>): void {
    const figures: Figures = nativeOf(data.usage) ?? data;
    const cost = spentOf(figures);
    if (isEmpty(cost)) {
      this.to.bad(`${source} without figures`);
      return;
    }
    this.#source ??= source;
    if (this.#source === source) this.to.usage('add', cost, idOf(figures.model));
  }

  /** The end record's figures are the session's: used only if no call has figures and no run came before. */
  total(data: Data<'session.shutdown'>): void {
    if (this.#source !== null || this.shared) return;
    for (const [model, metrics] of Object.entries(nativeOf(data.modelMetrics) ?? {})) {
      const cost = spentOf(nativeOf(nativeOf(metrics)?.usage) ?? {});
      if (isEmpty(cost)) continue;
      this.#source = 'session.shutdown';
      this.to.usage('add', cost, model);
    }
  }

  /** A new run begins: the figures so far do not belong to it. */
  startOver(): void {
    this.shared = true;
    if (this.#source === null) return;
    this.#source = null;
    this.to.usage('total', spent());
  }
}
