/** Token figures in the CLI's spellings: its input counts what came from the cache, ours does not. */
import type { Usage } from '../../model/parts.ts';
import { type Native, nativeOf, tokensOf } from './native.ts';

const FIGURES = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const;

function without(whole: number | null, cached: number | null): number | null {
  return whole === null ? null : Math.max(0, whole - (cached ?? 0));
}

/** `stats` of the end record. Thoughts are in its total only, without a name. */
export function ofStats(stats: Native): Usage {
  const cache_read = tokensOf(stats.cached);
  const input = tokensOf(stats.input) ?? without(tokensOf(stats.input_tokens), cache_read);
  const output = tokensOf(stats.output_tokens);
  return { input, output, cache_read, cache_write: null, reasoning: null };
}

/** `tokens` of a message in the session file. */
export function ofTokens(tokens: Native): Usage {
  const cache_read = tokensOf(tokens.cached);
  const input = without(tokensOf(tokens.input), cache_read);
  const output = tokensOf(tokens.output);
  return { input, output, cache_read, cache_write: null, reasoning: tokensOf(tokens.thoughts) };
}

/** `a + sign * b`; a figure that only one of them has is that one. */
export function sum(a: Usage, b: Usage, sign: 1 | -1): Usage {
  const result = { ...a };
  for (const name of FIGURES) {
    const more = b[name];
    if (more !== null) result[name] = (a[name] ?? 0) + sign * more;
  }
  return result;
}

export function isEmpty(usage: Usage): boolean {
  return FIGURES.every((name) => usage[name] === null);
}

/** The only model of the run; null when the record names none or several. */
export function onlyModel(stats: Native): string | null {
  const names = Object.keys(nativeOf(stats.models) ?? {});
  return names.length === 1 ? (names[0] ?? null) : null;
}
