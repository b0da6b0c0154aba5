/**
 * The scripted model: `node rehearsal/server/main.ts DIALECT PORT SCRIPT.json LOG.jsonl READY`.
 * Listens on loopback only and creates the file READY when it does. The log has one line per request, without the
 * bodies, which contain vendors' prompts.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { anthropic } from './anthropic.ts';
import { gemini } from './gemini.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import { type Dialect, type Reader, type Reply, readerOf, type Script } from './scenario.ts';

/** One file per dialect, one entry here. */
const DIALECTS: Readonly<Record<string, Dialect>> = {
  anthropic,
  gemini,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
};

/** A CLI's request contains its whole conversation; a rehearsal's is far smaller than this. */
const REQUEST_BYTES_MAX = 64 * 1024 * 1024;

/** One line of the log. */
export interface Logged {
  n: number;
  at_ms: number;
  method: string;
  url: string;
  status: number;
  note: string;
  user_texts: { bytes: number; sha256: string }[];
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > REQUEST_BYTES_MAX) throw new Error('request too large');
    chunks.push(chunk);
  }
  return bytes === 0 ? null : (JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown);
}

async function send(response: ServerResponse, reply: Reply): Promise<void> {
  response.writeHead(reply.status, reply.headers);
  if (typeof reply.body === 'string') {
    response.end(reply.body);
    return;
  }
  for await (const chunk of reply.body) {
    if (response.destroyed) return;
    response.write(chunk);
  }
  response.end();
}

function summary(texts: readonly string[]): Logged['user_texts'] {
  return texts.map((text) => ({
    bytes: Buffer.byteLength(text),
    sha256: createHash('sha256').update(text).digest('hex'),
  }));
}

function serve(dialect: Dialect, reader: Reader, log_path: string) {
  const begun_ms = Date.now();
  let n = 0;
  return createServer((request, response) => {
    n += 1;
    const line = { n, at_ms: Date.now() - begun_ms, method: request.method ?? '' };
    const log = (status: number, note: string, user_texts: Logged['user_texts']) => {
      const logged: Logged = { ...line, url: request.url ?? '', status, note, user_texts };
      appendFileSync(log_path, `${JSON.stringify(logged)}\n`);
    };
    const path = (request.url ?? '').split('?')[0] ?? '';
    readBody(request)
      .then((body) => {
        const reply = dialect({ method: line.method, path, body }, reader);
        log(reply.status, reply.note, summary(reply.user_texts));
        return send(response, reply);
      })
      .catch((cause: unknown) => {
        log(0, `failed: ${cause}`, []);
        response.destroy();
      });
  });
}

function main(argv: readonly string[]): void {
  const [name = '', port = '', script_path = '', log_path = '', ready_path = ''] = argv;
  const dialect = DIALECTS[name];
  if (!dialect || !ready_path) {
    process.stderr.write(
      `usage: main.ts ${Object.keys(DIALECTS).join('|')} PORT SCRIPT LOG READY\n`,
    );
    process.exitCode = 2;
    return;
  }
  const script = JSON.parse(readFileSync(script_path, 'utf8')) as Script;
  const server = serve(dialect, readerOf(script), log_path);
  server.listen(Number(port), '127.0.0.1', () => writeFileSync(ready_path, 'ready\n'));
}

if (import.meta.main) main(process.argv.slice(2));
