/** Every place that inspects a text decides the same for byte text (lib/byte-text). */
import { afterEach, expect, test } from 'vitest';
import { cutProblem, problem } from '../capture/decode.ts';
import { RecentMap } from '../lib/bounded.ts';
import { decodesByteText, fromByteText, toByteText } from '../lib/byte-text.ts';
import { charsIn } from '../lib/chars-of.ts';
import { idOf, momentOf, refusedFigures, statusOf } from '../lib/foreign.ts';
import { onlyRead, shellReads } from '../lib/shell-reads.ts';
import { skillOfPath } from '../lib/skill-use.ts';
import { skillOf } from './claude/calls.ts';
import { endedBy } from './codex/answers.ts';
import { changesOfPatch } from './codex/patch.ts';
import { commandOfLine } from './codex/shell-line.ts';
import { filesChanged, patchInput } from './copilot/files.ts';
import { reportedEnd, shownEnd } from './gemini/calls.ts';
import { failureOf } from './kit/failures.ts';
import { resultOf } from './kit/opencode-family/results.ts';
import { TOOLS, toolNamesIn } from './kit/opencode-family/tools.ts';
import { ofNested, verdictOf } from './kit/pi-family/results.ts';
import { answersOf } from './qwen/session-results.ts';

const long = (chars: number) => '字'.repeat(chars);
const SHELL = 'run_shell_command';
const bash = { native_tool: 'bash', exit_code: null };
const metadata = (text: string) => `${long(200)}<bash_metadata>\n${text}</bash_metadata>`;
const TIMED = 'terminated command after exceeding timeout 1 ms';
const asked = { tool: 'bash', measured: false, cut: false, ran: false };
const failed = (output: string) =>
  ({ call_id: 'c', tool: 'bash', failed: true, output, duration_ms: null }) as never;
const shown = (text: string, output: string) => ({
  toolCallResult: { callId: 'c', resultDisplay: text },
  message: { parts: [{ functionResponse: { id: 'c', name: 'x', response: { output } } }] },
});

const SAME: Record<string, [(given: never) => unknown, ...unknown[]]> = {
  onlyRead: [
    onlyRead,
    'cat notes/你\n',
    'cat notes/voilà',
    'cat 你\u3000',
    ` cat '${long(30_000)}'`,
    "sed -n '1,2\u00a0p' 你",
    "sed -n '/\\\u2028/p' 你",
    '\u2028/cat 你',
  ],
  shellReads: [
    shellReads,
    `cat '${long(30_000)}'`,
    `cd ${long(2000)} && cat a`,
    'head -\u2028 a b',
    'tail +\u2028 a',
    `cat notes/Р`,
  ],
  commandOfLine: [commandOfLine, `sh -c "cat ${long(100_000)}"`],
  idOf: [idOf, long(500), long(1024), long(1025), '🚀'.repeat(513)],
  tools: [charsIn, [long(3), 'é']],
  statusOf: [(value: string) => [statusOf(value), refusedFigures()], '\u00a0', '\u00a05', 'é'],
  momentOf: [momentOf, '2026-01-01T00你00:00.000Z', '2026-01-01\u00a0', '2026-01-01T00é0000.000Z'],
  problem: [
    (text: string) => cutProblem(problem('decode', 'not_json', text, text)),
    long(99),
    long(101),
    long(2000),
  ],
  failureOf: [
    failureOf,
    { message: `${long(1500)} rate limit` },
    { message: `${long(1995)} rate limit` },
    { native_kind: 'Networ\u212aError' },
  ],
  skillOf: [
    skillOf,
    `Base directory for this skill: /p/${long(2000)}/tidy\n\nx`,
    `Base directory for this skill: /p/${long(5000)}`,
  ],
  endedBy: [
    (text: string) => endedBy('c', 'exec_command', text),
    'Chunk ID: a\u2028b\nProcess exited with code 2\n',
  ],
  changesOfPatch: [changesOfPatch, '*** Add File: a\u2028b\n+1\n*** Move to: c\u2029d'],
  patchInput: [patchInput, '\u2028*** Add File: à\n', '*** Add File: a\u2028b'],
  filesChanged: [
    (detailedContent: string) =>
      filesChanged(
        { native_tool: 'edit', input: { path: 'a' } } as never,
        { result: { detailedContent } } as never,
      ),
    '\u3000diff --git a b\n',
    '\n diff --git a b\n',
  ],
  shownEnd: [
    (text: string) => shownEnd(SHELL, text),
    `Command was automatically cancelled because it exceeded the timeout ${long(200)}\n\nOutput before cancellation:\n`,
    'Command terminated by signal: à\u00a0',
    'Command terminated by signal: \u3000',
  ],
  reportedEnd: [
    (text: string) => reportedEnd(SHELL, text),
    `x\nBackground PIDs: ${long(1500)}\nExit Code: 3`,
    `${long(2000)}\nExit Code: 3\nBackground PIDs: ${long(4000)}`,
    'x\nExit Code: 3\nProcess Group PGID: 1\u3000',
    'x\nSignal: a\u2028Exit Code: 3',
    'x\nSignal: \u00a0',
    'x\nExit Code: 3\n</untrusted_context>\u00a0',
    `<untrusted_context>\nx\nExit Code: 4\n</untrusted_context>`,
  ],
  resultOf: [
    (output: string) => resultOf(bash, { status: 'completed', output } as never),
    metadata(TIMED + long(400)),
    metadata(TIMED + long(2000)),
    `${metadata(TIMED)}\u00a0`,
  ],
  toolNamesIn: [
    (patchText: string) => toolNamesIn(TOOLS)('apply_patch', { patchText }, null),
    '*** Add File: a\n+x\u2028*** Update File: b',
    'x\u2029*** Add File: a',
  ],
  ofNested: [
    (error: string) => ofNested('bash', { status: 'error', error } as never),
    `blocked: ${long(400)}`,
    `blocked: ${long(500)}`,
  ],
  verdictOf: [
    (text: string) => verdictOf(asked, failed(text)),
    'Request was aborted\u00a0',
    'Request was aborted \n',
    `Tool ${long(200)} not found`,
  ],
  answersOf: [
    ([text, output]: [string, string]) => answersOf(shown(text, output) as never, new RecentMap(9)),
    ['\u3000', 'à'],
    ['à', 'b'],
    [' ', 'à'],
  ],
};

afterEach(() => decodesByteText(false));

for (const [name, [decide, ...texts]] of Object.entries(SAME))
  test.each(texts.map((text, at) => [at, text]))(`${name} %i`, (_, text) => {
    decodesByteText(false);
    // Another test of this process may have left some.
    refusedFigures();
    const wanted = decide(text as never);
    decodesByteText(true);
    expect(fromByteText(decide(toByteText(text) as never))).toEqual(wanted);
  });

test('the skill in a path is found by its length in characters', () => {
  for (const path of [`/${long(2000)}/skills/你/SKILL.md`, `/${long(4096)}/skills/你/SKILL.md`])
    expect(fromByteText(skillOfPath(toByteText(path), true))).toBe(skillOfPath(path));
});
