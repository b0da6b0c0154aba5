/** A pseudo-terminal with a program in it, through `script` (util-linux), with the answers that programs wait for. */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

/** Questions of programs to a terminal, and the answers of an ordinary one: the cursor, the kind, colours, keys. */
const ANSWERS: readonly (readonly [string, string])[] = [
  ['\x1b[6n', '\x1b[1;1R'],
  ['\x1b[5n', '\x1b[0n'],
  ['\x1b[c', '\x1b[?62;22c'],
  ['\x1b[0c', '\x1b[?62;22c'],
  ['\x1b]10;?', '\x1b]10;rgb:ffff/ffff/ffff\x1b\\'],
  ['\x1b]11;?', '\x1b]11;rgb:0000/0000/0000\x1b\\'],
  ['\x1b[?u', '\x1b[?0u'],
];
const KEPT_CHARS = 64 * 1024;
const POLL_MS = 50;
/** Programs take a line end right after a text as part of what was pasted. */
const ENTER_AFTER_MS = 400;

const SHOWN_WITHIN_MS = 4_000;
/** Of the latest output, if more than is kept was shown. */
const SEARCHED_CHARS = 8 * 1024;

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

export interface Terminal {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
  /** The latest output. */
  shown(): string;
  /** Waits until nothing was shown for this time, but not longer than `limit_ms`. */
  quiet(quiet_ms: number, limit_ms: number): Promise<void>;
  send(keys: string): void;
  /** Types a text, and Enter once it is shown. False: it is not shown. */
  type(text: string): Promise<boolean>;
}

export function openTerminal(
  command: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Terminal {
  const line = `stty cols 120 rows 40; exec ${command.map(quoted).join(' ')}`;
  const child = spawn('script', ['-qfec', line, '/dev/null'], {
    ...options,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let [shown, changed_ms] = ['', Date.now()];
  child.stdin.on('error', () => undefined);
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    for (const [question, answer] of ANSWERS)
      for (let n = text.split(question).length; n > 1; n--) child.stdin.write(answer);
    shown = (shown + text).slice(-KEPT_CHARS);
    changed_ms = Date.now();
  });
  const ended = new Promise<void>((resolve) => {
    child.on('error', () => resolve());
    child.on('exit', () => resolve());
  });
  const send = (keys: string) => void child.stdin.write(keys);
  return {
    child,
    ended,
    send,
    shown: () => shown,
    async quiet(quiet_ms, limit_ms) {
      const end_ms = Date.now() + limit_ms;
      while (Date.now() < end_ms && (shown === '' || Date.now() - changed_ms < quiet_ms))
        await sleep(POLL_MS);
    },
    async type(text) {
      // Programs that are not ready yet lose what is typed.
      const last_word = text.split(' ').at(-1) ?? text;
      const before = shown.length;
      send(text);
      for (let waited_ms = 0; waited_ms < SHOWN_WITHIN_MS; waited_ms += POLL_MS) {
        await sleep(POLL_MS);
        const since = shown.slice(Math.min(before, KEPT_CHARS - SEARCHED_CHARS));
        if (!since.includes(last_word)) continue;
        await sleep(ENTER_AFTER_MS);
        send('\r');
        return true;
      }
      return false;
    },
  };
}
