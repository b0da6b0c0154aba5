/** Token figures in the CLI's spellings. `input` counts the whole prompt natively, with what was read from the cache. */
import type { Usage } from '../../model/parts.ts';
import type { Session } from './generated/native.ts';
import { type Inside, type StreamUsage, type Telemetry, tokensOf } from './native.ts';

const FIGURES = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const;

export function nothing(): Usage {
  return { input: null, output: null, cache_read: null, cache_write: null, reasoning: null };
}

export function add(sum: Usage, more: Usage): void {
  for (const name of FIGURES) {
    const value = more[name];
    if (value !== null) sum[name] = (sum[name] ?? 0) + value;
  }
}

export function isEmpty(usage: Usage): boolean {
  return FIGURES.every((name) => usage[name] === null);
}

interface Counted {
  prompt: unknown;
  output: unknown;
  cached: unknown;
  written?: unknown;
  thoughts?: unknown;
}

function usageOf({ prompt, output, cached, written, thoughts }: Counted): Usage {
  const whole = tokensOf(prompt);
  const cache_read = tokensOf(cached);
  return {
    input: whole === null ? null : Math.max(0, whole - (cache_read ?? 0)),
    output: tokensOf(output),
    cache_read,
    cache_write: tokensOf(written),
    reasoning: tokensOf(thoughts),
  };
}

/** `usage` of an assistant line or of the result on stdout. */
export function ofStream(usage: StreamUsage): Usage {
  return usageOf({
    prompt: usage.input_tokens,
    output: usage.output_tokens,
    cached: usage.cache_read_input_tokens,
    written: usage.cache_creation_input_tokens,
  });
}

/** A session file's record of one answered model request. */
export function ofTelemetry(event: Telemetry): Usage {
  return usageOf({
    prompt: event.input_token_count,
    output: event.output_token_count,
    cached: event.cached_content_token_count,
    thoughts: event.thoughts_token_count,
  });
}

/** `usageMetadata` of a session file's message. */
export function ofMessage(usage: Inside<Session['assistant']['usageMetadata']>): Usage {
  return usageOf({
    prompt: usage.promptTokenCount,
    output: usage.candidatesTokenCount,
    cached: usage.cachedContentTokenCount,
    thoughts: usage.thoughtsTokenCount,
  });
}

/** Lines before a turn's last one carry zeros, which say nothing. */
export function isPlaceholder(usage: StreamUsage | null): boolean {
  return !usage || (!tokensOf(usage.input_tokens) && !tokensOf(usage.output_tokens));
}
