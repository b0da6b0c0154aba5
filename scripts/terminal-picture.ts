/**
 * Makes docs/images/run.svg: a real run of the demo agent in a real pseudo-terminal (util-linux `script`), drawn as text.
 * `node scripts/terminal-picture.ts`, after a build.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { columns } from '../src/lib/columns.ts';

const root = join(import.meta.dirname, '..');
const PICTURE = join(root, 'docs', 'images', 'run.svg');
const COLUMNS = 112;
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

/** Lines of styled pieces. Only colours and line ends are understood: the human output has nothing else. */
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
    // The length holds the columns in place whatever monospace font there is.
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

function recordedRun(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-picture-'));
  const tacho = join(root, 'bin', 'tacho.cjs');
  const command = `stty cols ${COLUMNS} rows 60; "${process.execPath}" "${tacho}" run --agent demo "try it"`;
  try {
    const output = execFileSync('script', ['-qfec', command, '/dev/null'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
      encoding: 'utf8',
      env: {
        ...process.env,
        TERM: 'xterm-256color',
        LC_ALL: 'C.UTF-8',
        TACHO_HOME: join(folder, '.tacho'),
      },
    });
    // The folder's name means nothing to a reader.
    return output.replaceAll(folder, '~/greet').trimEnd();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const shown = '\x1b[32m$\x1b[39m tacho run --agent demo "try it"';
mkdirSync(dirname(PICTURE), { recursive: true });
writeFileSync(
  PICTURE,
  svg(
    linesOf(`${shown}\n${recordedRun()}`),
    'A terminal: tacho runs the demo agent and records it',
  ),
);
