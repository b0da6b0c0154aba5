/** Values of all channels in one form: stdout (snake_case), session files (CamelCase types), app-server (camelCase). */
import type { CallRequestedDraft } from '../../model/draft.ts';
import { type Inside, listOf, type Merged, nativeOf, textOf, tokensOf } from '../kit/native.ts';
import { less, type Spent, spent } from '../kit/usage.ts';
import type { Session, Stdout } from './generated/native.ts';

export type Event = Inside<Session['event_msg']['payload']>;
/** Messages of the app-server by method. */
export type Messages = {
  [K in keyof Stdout as K extends `server/${infer Method}` ? Method : never]: Stdout[K];
};
export type Params = Inside<Merged<Messages>['params']>;
export type Answer = Inside<Messages['answer']['result']>;
export type Item = Merged<{
  stdout: Inside<Merged<Stdout, `item.${string}`>['item']>;
  session: Inside<Event['item']>;
  server: Inside<Params['item']>;
}>;
export type Change = Inside<Item['changes']>;

export interface Request {
  readonly native_tool: string;
  readonly input: unknown;
  readonly more?: Pick<CallRequestedDraft, 'mcp' | 'tool'> | undefined;
}

type Figures = Merged<{
  stdout: Inside<Stdout['turn.completed']['usage']>;
  server: Inside<Inside<Params['tokenUsage']>['last']>;
}>;

/** The CLI counts cached tokens as input and reasoning as output. */
export function spentOf(value: unknown): Spent {
  const figures: Figures | null = nativeOf(value);
  const cache_read = tokensOf(figures?.cached_input_tokens ?? figures?.cachedInputTokens);
  return spent({
    input: less(tokensOf(figures?.input_tokens ?? figures?.inputTokens), cache_read),
    output: tokensOf(figures?.output_tokens ?? figures?.outputTokens),
    cache_read,
    cache_write: tokensOf(figures?.cache_write_input_tokens ?? figures?.cacheWriteInputTokens),
    reasoning: tokensOf(figures?.reasoning_output_tokens ?? figures?.reasoningOutputTokens),
  });
}

/** A text, or the texts of a list and its blocks of any type, joined by newlines. Null if there is none. */
export function textIn(content: unknown): string | null {
  if (typeof content === 'string') return content;
  const texts = listOf(content).map((block) => textOf(block) ?? textOf(nativeOf(block)?.text));
  const said = texts.filter((text) => text !== null);
  return said.length === 0 ? null : said.join('\n');
}

/** Converts an event of an older version to the item that holds the same facts today. */
export function itemOf(type: 'CommandExecution' | 'FileChange', event: Event): Item {
  const { exit_code, success } = event;
  const failed = success === false || (typeof exit_code === 'number' && exit_code !== 0);
  const status = event.status ?? (failed ? 'failed' : 'completed');
  return { ...event, type, id: event.call_id, status } as Item;
}

export function mcpOf({ call_id, invocation, result }: Event): Item {
  const { server, tool, arguments: input } = nativeOf(invocation) ?? {};
  const given = nativeOf(nativeOf(result)?.Ok);
  const bad = given === null || given.isError === true || given.is_error === true;
  const called = { type: 'McpToolCall', id: call_id, server, tool, arguments: input };
  const status = bad ? 'failed' : 'completed';
  return { ...called, result: given, error: nativeOf(result)?.Err, status } as Item;
}
