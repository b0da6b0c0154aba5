/**
 * Makes docs/images/run.svg: real runs of tacho in a real pseudo-terminal (util-linux `script`), drawn as text. Each
 * agent is replaced by a program that prints its recording from scripts/picture/: the real agent did the task in the
 * sandbox of the rehearsal, with a scripted model. Times are omitted. Run `node scripts/terminal-picture.ts` after a
 * build.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { columns } from '../src/lib/columns.ts';

const root = join(import.meta.dirname, '..');
const PICTURE = join(root, 'docs', 'images', 'run.svg');
const COLUMNS = 100;
const CELL = { width: 7.8, height: 18, font: 13, margin: 20, bar: 34 } as const;
const COLOURS: Readonly<Record<number, string>> = {
  31: '#ff7b72',
  32: '#7ee787',
  33: '#e3b341',
  34: '#79c0ff',
  35: '#d2a8ff',
  36: '#76e3ea',
};
const PAPER = '#0d1117';
const INK = '#e6edf3';
const FAINT = '#8b949e';

interface Style {
  bold: boolean;
  faint: boolean;
  colour: number;
}
interface Piece extends Style {
  text: string;
}

const PLAIN: Style = { bold: false, faint: false, colour: 39 };

function styled(style: Style, code: number): Style {
  if (code === 0) return PLAIN;
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, faint: true };
  if (code === 22) return { ...style, bold: false, faint: false };
  return (code >= 30 && code <= 39) || code >= 90 ? { ...style, colour: code } : style;
}

/** Lines of styled pieces. Only colours and line ends are handled: the human output has nothing else. */
function linesOf(output: string): Piece[][] {
  let style = PLAIN;
  return output.split(/\r*\n/).map((line) => {
    const pieces: Piece[] = [];
    for (const [, codes, text] of line.matchAll(/\x1b\[([\d;]*)m|([^\x1b]+)/g)) {
      if (text !== undefined) pieces.push({ ...style, text });
      else for (const code of (codes || '0').split(';')) style = styled(style, Number(code));
    }
    return pieces;
  });
}

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function lineSvg(pieces: readonly Piece[], row: number): string {
  const y = CELL.bar + CELL.margin + row * CELL.height;
  let column = 0;
  const spans = pieces.flatMap(({ text, bold, faint, colour }) => {
    const blank = text.length - text.trimStart().length;
    const x = (CELL.margin + (column + blank) * CELL.width).toFixed(1);
    column += columns(text);
    const word = text.trim();
    if (word === '') return [];
    const fill = COLOURS[colour] ?? (faint ? FAINT : INK);
    const weight = bold ? ' font-weight="bold"' : '';
    // The length keeps the columns aligned with any monospace font.
    const length = (columns(word) * CELL.width).toFixed(1);
    return [
      `<tspan x="${x}" fill="${fill}"${weight} textLength="${length}">${escaped(word)}</tspan>`,
    ];
  });
  return spans.length === 0 ? '' : `<text y="${y}">${spans.join('')}</text>`;
}

function svg(lines: readonly Piece[][], title: string): string {
  const width = Math.ceil(2 * CELL.margin + COLUMNS * CELL.width);
  const height = CELL.bar + CELL.margin + lines.length * CELL.height;
  const dots = ['#ff5f57', '#febc2e', '#28c840'].map(
    (fill, i) => `<circle cx="${20 + i * 20}" cy="18" r="6" fill="${fill}"/>`,
  );
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">`,
    `<rect width="${width}" height="${height}" rx="8" fill="${PAPER}"/>`,
    ...dots,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${CELL.font}" xml:space="preserve">`,
    ...lines.map(lineSvg).filter((line) => line !== ''),
    '</g>',
    '</svg>',
  ].join('\n')}\n`;
}

/** The commands that a reader sees. The second run fails: Claude Code was not allowed to run the test. */
const COMMANDS = [
  'tacho run --agent codex --approve edits --fail-on denied "fix the failing test"',
  'tacho run --agent claude --approve edits --fail-on denied "fix the failing test"',
  'echo $?',
];
/** The folder in which the agents were recorded. */
const RECORDED_IN = '/home/user/project';

/** Puts `tacho`, and a program for each recorded agent, into a folder. */
function programs(folder: string, work: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const put = (name: string, text: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  put('tacho', `exec "${process.execPath}" "${join(root, 'bin', 'tacho.cjs')}" "$@"`);
  for (const agent of ['claude', 'codex']) {
    const recording = readFileSync(join(root, 'scripts', 'picture', `${agent}.jsonl`), 'utf8');
    const file = join(folder, `${agent}.jsonl`);
    writeFileSync(file, recording.replaceAll(RECORDED_IN, work));
    put(agent, `while IFS= read -r line; do printf '%s\\n' "$line"; sleep 0.2; done < "${file}"`);
  }
  return bin;
}

function terminalOutput(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-picture-'));
  const work = join(folder, 'work');
  mkdirSync(work);
  // The last exit code is preserved while the command is printed.
  const typed = COMMANDS.map(
    (command, at) =>
      `code=$?; printf '${at === 0 ? '' : '\\n'}\\033[32m$\\033[39m %s\\n' '${command}'; (exit $code); ${command}`,
  );
  const script = join(folder, 'typed.sh');
  writeFileSync(script, `stty cols ${COLUMNS} rows 60\n${typed.join('; ')}\n`);
  try {
    const output = execFileSync('script', ['-qfc', `sh "${script}"`, '/dev/null'], {
      cwd: work,
      stdio: ['ignore', 'pipe', 'inherit'],
      encoding: 'utf8',
      env: {
        PATH: [programs(folder, work), process.env.PATH].join(delimiter),
        HOME: folder,
        TERM: 'xterm-256color',
        LC_ALL: 'C.UTF-8',
        TACHO_HOME: join(folder, 'state'),
      },
    });
    // The folder's name means nothing to a reader.
    return output.replaceAll(work, '~/sum').trimEnd();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

mkdirSync(dirname(PICTURE), { recursive: true });
writeFileSync(
  PICTURE,
  svg(
    linesOf(terminalOutput()),
    'A terminal: tacho records Codex and Claude Code in the same words; a denied call fails the second run',
  ),
);
