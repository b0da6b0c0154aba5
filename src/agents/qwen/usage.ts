/** Token figures in the CLI's spellings. `input` counts the whole prompt natively, with what was read from the cache. */
import { type Inside, type Merged, tokensOf } from '../kit/native.ts';
import { type Spent, spent } from '../kit/usage.ts';
import type { Session, Stdout } from './generated/native.ts';

/** The end record, however the run ended. */
export type Result = Merged<Stdout, `result/${string}`>;
type StreamUsage = Inside<Result['usage']>;
export type Telemetry = Inside<Inside<Session['system/ui_telemetry']['systemPayload']>['uiEvent']>;
export type MessageUsage = Inside<Session['assistant']['usageMetadata']>;

interface Counted {
  prompt: unknown;
  output: unknown;
  cached: unknown;
  written?: unknown;
  thoughts?: unknown;
}

function spentOf({ prompt, output, cached, written, thoughts }: Counted): Spent {
  const whole = tokensOf(prompt);
  const cache_read = tokensOf(cached);
  return spent({
    input: whole === null ? null : Math.max(0, whole - (cache_read ?? 0)),
    output: tokensOf(output),
    cache_read,
    cache_write: tokensOf(written),
    reasoning: tokensOf(thoughts),
  });
}

/** `usage` of an assistant line or of the result on stdout. */
export function ofStream(usage: StreamUsage): Spent {
  return spentOf({
    prompt: usage.input_tokens,
    output: usage.output_tokens,
    cached: usage.cache_read_input_tokens,
    written: usage.cache_creation_input_tokens,
  });
}

/** A session file's record of one answered model request. */
export function ofTelemetry(event: Telemetry): Spent {
  return spentOf({
    prompt: event.input_token_count,
    output: event.output_token_count,
    cached: event.cached_content_token_count,
    thoughts: event.thoughts_token_count,
  });
}

/** `usageMetadata` of a session file's message. */
export function ofMessage(usage: MessageUsage): Spent {
  return spentOf({
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
