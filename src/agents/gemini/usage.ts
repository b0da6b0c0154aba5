/** Token figures in the CLI's spellings: its input counts what came from the cache, ours does not. */
import { type Inside, nativeOf, tokensOf } from '../kit/native.ts';
import { type Spent, spent } from '../kit/usage.ts';
import type { Session, Stdout } from './generated/native.ts';

type Stats = Inside<Stdout['result']['stats']>;
export type Tokens = Inside<Session['gemini']['tokens']>;

function without(whole: number | null, cached: number | null): number | null {
  return whole === null ? null : Math.max(0, whole - (cached ?? 0));
}

/** `stats` of the end record. Thoughts are in its total only, without a name. */
export function ofStats(stats: Stats): Spent {
  const cache_read = tokensOf(stats.cached);
  const input = tokensOf(stats.input) ?? without(tokensOf(stats.input_tokens), cache_read);
  return spent({ input, output: tokensOf(stats.output_tokens), cache_read });
}

/** `tokens` of a message in the session file. */
export function ofTokens(tokens: Tokens): Spent {
  const cache_read = tokensOf(tokens.cached);
  const input = without(tokensOf(tokens.input), cache_read);
  const output = tokensOf(tokens.output);
  return spent({ input, output, cache_read, reasoning: tokensOf(tokens.thoughts) });
}

/** The only model of the run; null when the record names none or several. */
export function onlyModel(stats: Stats): string | null {
  const names = Object.keys(nativeOf(stats.models) ?? {});
  return names.length === 1 ? (names[0] ?? null) : null;
}
