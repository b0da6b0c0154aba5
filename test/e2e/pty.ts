/** A program in a real pseudo-terminal (util-linux `script`), with its bytes interpreted by a terminal emulator. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import xterm from '@xterm/headless';

export interface Pty {
  /** The lines on the screen, without trailing blanks. */
  lines(): string[];
  /** Whether the alternate screen is shown. */
  alternate(): boolean;
  /** All bytes so far. */
  bytes(): string;
  /** Waits until the screen satisfies the condition. */
  until(what: string, condition: (lines: string[]) => boolean): Promise<void>;
  type(keys: string): void;
  resize(cols: number, rows: number): void;
  signal(name: NodeJS.Signals): void;
  /** The program's exit code, and the terminal mode after it. */
  ended: Promise<{ code: number | null; mode: string }>;
  close(): void;
}

const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;
const WAIT_MS = 60_000;

export function openPty(command: readonly string[], size = { cols: 80, rows: 24 }): Pty {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-pty-'));
  const at = (name: string): string => join(folder, name);
  const read = (name: string): string =>
    existsSync(at(name)) ? readFileSync(at(name), 'utf8').trim() : '';
  const line = [
    `tty > ${quote(at('tty'))}`,
    `stty cols ${size.cols} rows ${size.rows}`,
    `sh -c 'echo $$ > "$0"; exec "$@"' ${quote(at('pid'))} ${command.map(quote).join(' ')}`,
    'code=$?',
    `stty -a > ${quote(at('mode'))}`,
    'exit $code',
  ].join('; ');
  const child: ChildProcess = spawn('script', ['-qfec', line, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, TERM: 'xterm-256color', LC_ALL: 'C.UTF-8' },
  });
  const terminal = new xterm.Terminal({ ...size, allowProposedApi: true, scrollback: 1000 });
  const watchers = new Set<() => void>();
  let bytes = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    bytes += chunk;
    terminal.write(chunk, () => {
      for (const look of watchers) look();
    });
  });
  const lines = (): string[] => {
    const { active } = terminal.buffer;
    const row = (index: number) =>
      active.getLine(active.viewportY + index)?.translateToString(true);
    return Array.from({ length: terminal.rows }, (_, index) => (row(index) ?? '').trimEnd());
  };
  const ended = new Promise<{ code: number | null; mode: string }>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => terminal.write('', () => resolve({ code, mode: read('mode') })));
  });
  return {
    lines,
    alternate: () => terminal.buffer.active.type === 'alternate',
    bytes: () => bytes,
    until: (what, condition) =>
      new Promise((resolve, reject) => {
        const stop = setTimeout(() => {
          watchers.delete(look);
          reject(new Error(`never came: ${what}\n${lines().join('\n')}`));
        }, WAIT_MS);
        const look = (): void => {
          if (!condition(lines())) return;
          clearTimeout(stop);
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      }),
    type: (keys) => child.stdin?.write(keys),
    resize(cols, rows) {
      terminal.resize(cols, rows);
      // The kernel sends SIGWINCH to the foreground program.
      execFileSync('stty', ['-F', read('tty'), 'cols', String(cols), 'rows', String(rows)]);
    },
    signal: (name) => process.kill(Number(read('pid')), name),
    ended,
    close() {
      child.kill('SIGKILL');
      terminal.dispose();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
