/** The Gemini API, as far as a CLI needs it: streamed and complete answers, errors, token counts. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Asked,
  type Dialect,
  halves,
  type Output,
  outputsIn,
  type ProviderFailure,
  type Reader,
  type Reply,
  type Step,
  type Turn,
} from './scenario.ts';

interface Content {
  role?: string;
  parts?: { text?: string }[];
}
interface GenerateRequest {
  contents?: Content[];
  tools?: { functionDeclarations?: { name?: string }[] }[];
  generationConfig?: { responseSchema?: unknown; responseJsonSchema?: unknown };
}
type Part =
  | { text: string; thought?: true }
  | { functionCall: { id: string; name: string; args: object }; thoughtSignature: string };
type Answer = Omit<Reply, 'note' | 'user_texts'>;

const JSON_TYPE = { 'content-type': 'application/json' };
const ROUTE = /\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/;
/** A sub-agent always ends by calling this tool, which only sub-agents have, never with a text. */
const LAST_WORD = 'complete_task';

export const gemini: Dialect = (asked, reader) => {
  const [, model = '', method = ''] = ROUTE.exec(asked.path) ?? [];
  if (asked.method !== 'POST' || method === '') {
    return plain(404, errorBody(404, `no route ${asked.path}`), 'no route');
  }
  if (method === 'countTokens') return plain(200, '{"totalTokens":1000}', 'countTokens');
  return generate(asked, { model, streams: method === 'streamGenerateContent', reader });
};

interface Speaker {
  model: string;
  streams: boolean;
  reader: Reader;
}

function generate(asked: Asked, speaker: Speaker): Reply {
  const request = (asked.body ?? {}) as GenerateRequest;
  const user_texts = userTexts(request);
  const tools = toolNames(request);
  const { responseSchema, responseJsonSchema } = request.generationConfig ?? {};
  // Not a turn of the agent: model selection, a title, a summary.
  if (tools.length === 0 || responseSchema || responseJsonSchema) {
    return { ...answer(request, [{ text: '{}' }], speaker), note: 'side errand', user_texts };
  }
  const { queue, index, turn } = speaker.reader.take(user_texts.join('\n'));
  const note = `${queue} ${index + 1}`;
  if ('error' in turn) return { ...failure(turn.error), note, user_texts };
  const steps = tools.includes(LAST_WORD) ? withLastWord(turn) : turn;
  return { ...answer(request, steps, speaker), note, user_texts };
}

function userTexts(request: GenerateRequest): string[] {
  const said = (request.contents ?? []).filter((content) => content.role === 'user');
  return said.flatMap(({ parts }) => (parts ?? []).flatMap(({ text }) => text ?? []));
}

function toolNames(request: GenerateRequest): string[] {
  const declared = (request.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
  return declared.flatMap(({ name }) => name ?? []);
}

function withLastWord(steps: Exclude<Turn, { error: unknown }>): readonly Step[] {
  if (steps.some((step) => 'tool' in step)) return steps;
  return steps.map((step) =>
    'text' in step ? { tool: LAST_WORD, input: { result: step.text } } : step,
  );
}

function plain(status: number, body: string, note: string): Reply {
  return { status, headers: JSON_TYPE, body, note, user_texts: [] };
}

function errorBody(code: number, message: string): string {
  return JSON.stringify({ error: { code, message, status: 'UNKNOWN' } });
}

function failure({ status, headers, body }: ProviderFailure): Answer {
  return {
    status,
    headers: { ...JSON_TYPE, ...headers },
    body: body ? JSON.stringify(body) : errorBody(status, `scripted error ${status}`),
  };
}

function answer(request: GenerateRequest, steps: readonly Step[], speaker: Speaker): Answer {
  const { model, reader, streams } = speaker;
  const end = { usageMetadata: usageOf(request, outputsIn(steps)), finishReason: 'STOP' };
  const chunk = chunker(model, reader.id('resp'));
  if (streams) {
    const body = streamed({ steps, reader, end, chunk });
    return { status: 200, headers: { 'content-type': 'text/event-stream' }, body };
  }
  const parts = outputsIn(steps).map((step) => partOf(step, reader));
  return { status: 200, headers: JSON_TYPE, body: JSON.stringify(chunk(parts, end)) };
}

/** Tokens of thoughts are not part of the candidates' tokens; cached ones are part of the prompt's. */
function usageOf(request: GenerateRequest, said: readonly Output[]): Record<string, number> {
  const count = (some: readonly Output[]) =>
    some.reduce((sum, step) => sum + Math.ceil(JSON.stringify(step).length / 4), 0);
  const promptTokenCount = 1000 + 10 * (request.contents?.length ?? 0);
  const thoughtsTokenCount = count(said.filter((step) => 'thinking' in step));
  const candidatesTokenCount = count(said) - thoughtsTokenCount;
  return {
    promptTokenCount,
    cachedContentTokenCount: 300,
    candidatesTokenCount,
    thoughtsTokenCount,
    totalTokenCount: promptTokenCount + candidatesTokenCount + thoughtsTokenCount,
  };
}

interface End {
  finishReason: string;
  usageMetadata: Record<string, number>;
}
type Chunker = (parts: readonly Part[], end?: End) => object;

function chunker(modelVersion: string, responseId: string): Chunker {
  return (parts, end) => {
    const { finishReason, usageMetadata } = end ?? {};
    const candidate = { content: { role: 'model', parts }, index: 0, finishReason };
    return { candidates: [candidate], usageMetadata, modelVersion, responseId };
  };
}

function partOf(step: Output, reader: Reader): Part {
  if ('text' in step) return { text: step.text };
  if ('thinking' in step) return { text: step.thinking, thought: true };
  const functionCall = { id: reader.id('fc'), name: step.tool, args: step.input };
  return { functionCall, thoughtSignature: 'c2NyaXB0ZWQ=' };
}

async function* streamed(said: {
  steps: readonly Step[];
  reader: Reader;
  end: End;
  chunk: Chunker;
}): AsyncGenerator<string> {
  for (const step of said.steps) {
    if ('sleep_ms' in step) {
      await sleep(step.sleep_ms);
      continue;
    }
    for (const part of pieces(partOf(step, said.reader))) yield sse(said.chunk([part]));
  }
  yield sse(said.chunk([{ text: '' }], said.end));
}

function pieces(part: Part): Part[] {
  if (!('text' in part) || part.thought) return [part];
  return halves(part.text).map((text) => ({ text }));
}

function sse(chunk: object): string {
  return `data: ${JSON.stringify(chunk)}\r\n\r\n`;
}
