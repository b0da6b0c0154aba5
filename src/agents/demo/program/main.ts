/** The demo agent's program: plays a script in the folder it stands in. Started by tacho as any agent is. */
import { createHash, randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { LIMITS } from '../../../lib/limits.ts';
import { DEMO_VERSION } from '../native.ts';
import { tools } from '../tools.ts';
import { openScript, shippedNames } from './library.ts';
import { HELP, type Options, readOptions, UsageError } from './options.ts';
import { createOutput, openSession, type Ticker, writeAll } from './output.ts';
import { play } from './play.ts';
import { type Script, ScriptError } from './script.ts';
import type { Stage } from './stage.ts';

const STDOUT = 1;
const STDERR = 2;
const USAGE = 2;
const SEEDED_START_MS = Date.UTC(2026, 0, 1);
const SEEDED_TICK_MS = 10;

const sha256 = (data: string): string => createHash('sha256').update(data).digest('hex');

async function readPrompt(): Promise<string> {
  if (process.stdin.isTTY) return '';
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of process.stdin as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > LIMITS.prompt_bytes_max) throw new UsageError('the prompt is too long');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function ticker(options: Options, script: Script): Ticker {
  if (!options.timestamps || !script.timestamps) return () => null;
  // A clock that is set meanwhile must not change how long a call took.
  if (options.seed === null) return () => Math.round(performance.timeOrigin + performance.now());
  let at = SEEDED_START_MS;
  return () => {
    at += SEEDED_TICK_MS;
    return at;
  };
}

function sessionId({ resume, seed }: Options, script: Script): string {
  const derived = seed === null ? randomUUID() : sha256(seed).slice(0, 12);
  return resume ?? script.session_id ?? `demo-${derived}`;
}

/** Opens the files and says hello. */
function setStage(options: Options, script: Script, prompt: string): Stage {
  const cwd = process.cwd();
  const { approve, stream, speed, session_dir } = options;
  const session_id = sessionId(options, script);
  const session = session_dir === null ? null : openSession(resolve(cwd, session_dir), session_id);
  const now = ticker(options, script);
  const output = createOutput({ fd: STDOUT, now, hide: script.hide, session });
  const model = options.model ?? script.model ?? 'demo-1';
  const names = [...tools.rows.map((row) => row.native), ...tools.passed_through];
  const told = { session: session_id, model, version: DEMO_VERSION, cwd, approve, tools: names };
  output.emit({ t: 'hello', ...told });
  sayPrompt(output, prompt);
  const id_suffix = session !== null && session.size > 0 ? `-${session.size}` : '';
  const fixed = { output, cwd, prompt, model, approve, stream, speed, id_suffix };
  return { ...fixed, turns: 0, calls: 0, turn_id: null, background: [] };
}

function sayPrompt(output: Stage['output'], text: string): void {
  const bytes = Buffer.byteLength(text);
  const hash = sha256(text);
  if (bytes > LIMITS.echoed_prompt_bytes_max) {
    output.emit({ t: 'note', code: 'long_prompt', text: `${bytes} bytes, sha256 ${hash}` });
  } else if (bytes > 0) output.emit({ t: 'prompt', text, bytes, sha256: hash });
}

function list(): string {
  const rows = shippedNames().map((name) => `${name.padEnd(20)} ${openScript(name, '.').about}`);
  return rows.join('\n');
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2), process.env);
  const told = options.help ? HELP : options.version ? DEMO_VERSION : options.list ? list() : null;
  if (told !== null) {
    writeAll(STDOUT, `${told}\n`);
    return 0;
  }
  const script = openScript(options.script, process.cwd());
  if (options.check) return 0;
  return play(script, setStage(options, script, await readPrompt()));
}

// Wrong arguments and scripts are told; anything else is a crash, and is meant to look like one.
try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof UsageError || error instanceof ScriptError)) throw error;
  writeAll(STDERR, `error: ${error.message}\n`);
  process.exitCode = USAGE;
}
