/** Agent texts that make a careless pattern slow: each function must take linear, not quadratic, time. */
import { expect, test } from 'vitest';
import { cpuMs } from '../../test/cpu-ms.ts';
import { onlyRead, shellReads } from '../lib/shell-reads.ts';
import { wordsOf } from '../lib/shell-words.ts';
import { continues, endedBy, isAborted, refusal } from './codex/answers.ts';
import { reportedEnd } from './gemini/calls.ts';
import { mcpOf } from './gemini/tools.ts';

const MB = 1024 * 1024;
/** Far more than any function takes, and far less than quadratic time on 1 MB. */
const CPU_MS = 2_000;

/** A text of this length: `head`, then `piece` repeated, then `tail`. */
const long = (head: string, piece: string, tail = '', length = MB) =>
  head + piece.repeat(Math.ceil((length - head.length - tail.length) / piece.length)) + tail;
/** The longest command line that is split. */
const line = (head: string, piece: string, tail = '') => long(head, piece, tail, 65_000);
const endOf = (text: string) => reportedEnd('run_shell_command', text);
const codex = (text: string) => endedBy('c', 'exec_command', text);

const CASES: Record<string, () => unknown> = {
  'shellReads: slashes before the end': () => shellReads(line('cd ', '/', 'x; cat y')),
  'shellReads: slashes at the end': () => shellReads(line('cd x', '/', '; cat y')),
  'shellReads: folder in folder': () => shellReads(line('', 'cd a;cat b;')),
  'shellReads: many files of one long folder': () =>
    shellReads(
      `cd ${'a'.repeat(4_000)};cat ${Array.from({ length: 10_000 }, (_, i) => i).join(' ')}`,
    ),
  'shellReads: open brackets': () => shellReads(line('cat ', '$(')),
  'shellReads: brackets in brackets': () =>
    shellReads(`cat ${'$('.repeat(9_000)}${')'.repeat(9_000)}`),
  'shellReads: here-documents': () => shellReads(line('cat ', '<<a ', '\n\n\n')),
  'shellReads: words that only run another': () => shellReads(line('cat;', 'env ')),
  'shellReads: options': () => shellReads(line('head ', '-c ')),
  'onlyRead: a script of sed': () => onlyRead(line("sed -n '", '1p ; ', "x' y")),
  'onlyRead: a pattern of sed': () => onlyRead(line("sed -n '/", '\\a', "' y")),
  'wordsOf: quotes': () => wordsOf(long('', '"$(\'')),
  'wordsOf: backticks': () => wordsOf(long('', '"`')),
  'codex: refused again and again': () => codex(long('x failed for ` ', '`: SandboxDenied { ')),
  'codex: a long name': () => codex(long('', 'x')),
  'codex: many words': () => refusal(long('', 'a ')),
  'codex: many words, the longest line': () => refusal(long('', 'a ', '', 8 * MB)),
  'codex: backticks': () => refusal(long('', '`')),
  'codex: wall time': () => [
    isAborted(long('Wall time: ', '1.')),
    continues(long('Wall time: ', '1')),
  ],
  'gemini: brackets in a display name': () =>
    [' (', 'x', ' MCP Server)'].map((tail) => mcpOf('mcp_a_b', long('', ' (', tail))),
  'gemini: servers in a display name': () => mcpOf('mcp_a_b', long('', ' (x MCP Server)', 'y')),
  'gemini: last lines': () => endOf(long('', '\nSignal: ', '\nx')),
  'gemini: blanks in a last line': () => {
    for (let calls = 0; calls < 200; calls++) endOf(long('\nSignal: ', ' ', '\nx', 4_096));
  },
};

test.for(Object.entries(CASES))('%s', ([, work]) => {
  const before = cpuMs();
  work();
  expect(cpuMs() - before).toBeLessThan(CPU_MS);
});
