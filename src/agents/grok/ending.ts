/** The end of a turn, its failures, and its tokens, as both channels report them. */
import { type End, endFor, OK } from '../kit/drafts.ts';
import type { FailureFacts } from '../kit/failures.ts';
import { costOf, nativeOf, type Open, textOf, tokensOf } from '../kit/native.ts';
import { onlyKey, type Spent, spent, without } from '../kit/usage.ts';

const STATUS = /\bstatus (\d{3})\b|"http_status": ?(\d{3})\b/;

/** A failure of the model API, as the CLI words it: `API error (status 400 Bad Request): …`. */
export function failureOf(message: string): FailureFacts {
  const match = STATUS.exec(message);
  const status = match?.[1] ?? match?.[2];
  return { status: status === undefined ? null : Number(status), message };
}

export interface Stopped {
  reason: string | null;
  /** The text of a refusal that ended the turn. */
  refused: string | null;
  /** The limit of turns was reached. */
  limited: boolean;
}

/** A cancelled turn was refused, or limited, or interrupted. */
export function endOf({ reason, refused, limited }: Stopped): End {
  if (limited || reason === 'max_turn_requests') return endFor('max_steps', 'max turns reached');
  if (reason !== 'cancelled') return OK;
  return refused === null ? endFor('cancelled', null) : endFor('denied', refused);
}

/** Figures on stdout: `input_tokens` excludes the cache. */
export function spentOf(usage: Open | null, cost: unknown): Spent | null {
  if (usage === null) return null;
  const figures = {
    input: tokensOf(usage.input_tokens),
    output: tokensOf(usage.output_tokens),
    cache_read: tokensOf(usage.cache_read_input_tokens),
    cache_write: tokensOf(usage.cache_creation_input_tokens),
    reasoning: tokensOf(usage.reasoning_tokens),
  };
  return spent(figures, costOf(cost));
}

/** Figures in session files: `inputTokens` includes the cache. */
export function storedSpentOf(usage: Open | null): Spent | null {
  if (usage === null) return null;
  const cache_read = tokensOf(usage.cachedReadTokens);
  const cache_write = tokensOf(usage.cacheCreationTokens);
  const figures = {
    input: without(tokensOf(usage.inputTokens), cache_read, cache_write),
    output: tokensOf(usage.outputTokens),
    cache_read,
    cache_write,
    reasoning: tokensOf(usage.reasoningTokens),
  };
  return spent(figures);
}

/** The model, if the turn used only one. */
export function modelIn(usage: unknown): string | null {
  return textOf(onlyKey(nativeOf(usage)));
}
