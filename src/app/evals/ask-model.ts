/** One question to a model, at any endpoint with one of the two common APIs. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelRequest, Tools } from '../../evals/types.ts';
import { durationText } from '../../lib/figures.ts';
import { APP_LIMITS } from '../limits.ts';

interface Api {
  base_url: string;
  key_env: string;
  path(base: string): string;
  headers(key: string | null): Record<string, string>;
  body(request: ModelRequest): unknown;
  /** The text of an answer. Undefined if it has none. */
  text(answer: unknown): unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: a foreign answer is read loosely; what is missing is undefined
type Foreign = any;

const ANSWER_TOKENS_MAX = 2_000;
const WAIT_MS = 500;
const WAIT_MS_MAX = 20_000;

const APIS: Readonly<Record<ModelRequest['api'], Api>> = {
  openai: {
    base_url: 'https://api.openai.com/v1',
    key_env: 'OPENAI_API_KEY',
    path: (base) => `${base}/chat/completions`,
    headers: (key) => (key === null ? {} : { authorization: `Bearer ${key}` }),
    body: ({ model, system, prompt, temperature }) => ({
      model,
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: prompt },
      ],
      ...(temperature !== null && { temperature }),
    }),
    text: (answer: Foreign) => answer?.choices?.[0]?.message?.content,
  },
  anthropic: {
    base_url: 'https://api.anthropic.com',
    key_env: 'ANTHROPIC_API_KEY',
    path: (base) => (base.endsWith('/v1') ? `${base}/messages` : `${base}/v1/messages`),
    headers: (key) => ({
      'anthropic-version': '2023-06-01',
      ...(key !== null && { 'x-api-key': key }),
    }),
    body: ({ model, system, prompt, temperature }) => ({
      model,
      system,
      max_tokens: ANSWER_TOKENS_MAX,
      messages: [{ role: 'user', content: prompt }],
      ...(temperature !== null && { temperature }),
    }),
    text: (answer: Foreign) =>
      answer?.content?.find((part: Foreign) => part?.type === 'text')?.text,
  },
};

/** The endpoint of a judging model, and the variable with its key. */
export function destinationOf({ api, base_url, api_key_env }: Destination) {
  const { base_url: own_url, key_env } = APIS[api];
  return {
    url: base_url ?? own_url,
    key_env: api_key_env ?? key_env,
    /** The API's own host gets the API's own key. */
    own_host: base_url === null || originOf(base_url) === originOf(own_url),
    own_key: api_key_env === null || api_key_env === key_env,
  };
}

type Destination = Pick<ModelRequest, 'api' | 'base_url' | 'api_key_env'>;

const originOf = (url: string) => URL.parse(url)?.origin ?? url;

/** The variable that should contain the missing key. Another host may need no key. */
export function missingKey(request: Destination, env: NodeJS.ProcessEnv): string | null {
  const name = request.api_key_env ?? APIS[request.api].key_env;
  const needed = request.base_url === null || request.api_key_env !== null;
  return needed && !env[name] ? name : null;
}

interface Attempt {
  text: string;
  failure: string | null;
  /** Milliseconds to wait before another attempt. Null if none would help. */
  again_ms: number | null;
}

const failed = (failure: string, again_ms: number | null): Attempt => ({
  text: '',
  failure,
  again_ms,
});

async function bodyOf(response: Response): Promise<string | null> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > APP_LIMITS.model_answer_bytes_max) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

async function attempt(api: Api, request: ModelRequest, key: string | null): Promise<Attempt> {
  const url = api.path((request.base_url ?? api.base_url).replace(/\/+$/, ''));
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...api.headers(key) },
    body: JSON.stringify(api.body(request)),
    // The key must not be sent elsewhere.
    redirect: 'error',
    signal: AbortSignal.timeout(request.timeout_ms),
  });
  const body = await bodyOf(response);
  if (body === null) return failed('the answer of the model is too long', null);
  if (!response.ok) {
    const wait = Number(response.headers.get('retry-after') ?? Number.NaN) * 1000;
    const again = response.status === 429 || response.status >= 500;
    return failed(
      `the model's endpoint answered ${response.status}: ${JSON.stringify(body)}`,
      again ? Math.min(Number.isNaN(wait) ? 0 : wait, WAIT_MS_MAX) : null,
    );
  }
  try {
    const text = api.text(JSON.parse(body));
    if (typeof text === 'string') return { text, failure: null, again_ms: null };
  } catch {
    // Reported below.
  }
  return failed(`the model's endpoint gave no text: ${JSON.stringify(body)}`, null);
}

const reasonOf = (error: Error, { timeout_ms }: ModelRequest) => {
  if (error.name === 'TimeoutError') return `timed out after ${durationText(timeout_ms)}`;
  return (error.cause as Error | undefined)?.message || error.message;
};

export async function askModel(
  request: ModelRequest,
  env: NodeJS.ProcessEnv,
): ReturnType<Tools['ask']> {
  const api = APIS[request.api];
  const missing = missingKey(request, env);
  if (missing !== null)
    return { text: '', failure: `no key for the judging model: set ${missing}` };
  const key = env[request.api_key_env ?? api.key_env] || null;
  let last: Attempt = failed('', null);
  for (let tried = 0; tried <= request.retries; tried++) {
    if (tried > 0) {
      if (last.again_ms === null) break;
      await sleep(Math.max(last.again_ms, Math.min(WAIT_MS * 2 ** (tried - 1), WAIT_MS_MAX)));
    }
    try {
      last = await attempt(api, request, key);
    } catch (error) {
      last = failed(`the model could not be asked: ${reasonOf(error as Error, request)}`, 0);
    }
  }
  return { text: last.text, failure: last.failure };
}
