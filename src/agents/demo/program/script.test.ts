import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openScript, shippedNames } from './library.ts';
import { loadScript, ScriptError, words } from './script.ts';

function faultsOf(source: string): string[] {
  try {
    loadScript(source, 'my.yaml');
  } catch (error) {
    if (error instanceof ScriptError) return error.message.split('\n');
    throw error;
  }
  return [];
}

test('a script becomes turns and actions, short forms written out', () => {
  const source = `
about: shows the forms
steps:
  - say: Hello.
    stream: true
    calls:
      - { tool: run, input: { cmd: ls }, during: [{ stderr: oops }] }
      - sleep_ms: 5
  - hang: true
  - exit: { code: 2, without_end: true }
    pause_ms: 7
  - raw: { t: odd }
`;
  const call = { tool: 'run', input: { cmd: 'ls' }, during: [{ stderr: 'oops' }] };
  expect(loadScript(source, 'my.yaml')).toEqual({
    about: 'shows the forms',
    model: null,
    session_id: null,
    timestamps: true,
    hide: [],
    steps: [
      {
        pause_ms: 0,
        actions: [],
        turn: {
          think: null,
          say: ['Hello.'],
          stream: ['Hello.'],
          calls: [
            {
              tool: 'run',
              server: null,
              input: { cmd: 'ls' },
              options: call,
              subagent: null,
              during: [{ name: 'stderr', args: { text: 'oops' } }],
            },
            { name: 'sleep_ms', args: { ms: 5 } },
          ],
          usage: null,
          allowed: null,
          mode: null,
        },
      },
      { pause_ms: 0, turn: null, actions: [{ name: 'hang', args: {} }] },
      {
        pause_ms: 7,
        turn: null,
        actions: [{ name: 'exit', args: { code: 2, without_end: true } }],
      },
      { pause_ms: 0, turn: null, actions: [{ name: 'raw', args: { line: { t: 'odd' } } }] },
    ],
  });
});

test('what is wrong in a script is told with its line and field', () => {
  const source = `model: 7
colour: red
steps:
  - say: 5
    calls:
      - tool: run
        input: ls
      - tool: read_file
        expect: { status: fine }
        subagent:
          - usage: { input: -1 }
      - die: SIGNOTHING
  - garbage: { bytes_hex: xyz }
  - dance: true
`;
  expect(faultsOf(source)).toEqual([
    'my.yaml:1: model must be text',
    'my.yaml:2: colour is not known here',
    'my.yaml:4: steps[0].say must be text',
    'my.yaml:7: steps[0].calls[0].input must be a mapping',
    'my.yaml:9: steps[0].calls[1].expect.status must be one of ok, error, denied, timeout, cancelled',
    'my.yaml:11: steps[0].calls[1].subagent[0].usage.input must be a whole number from 0 up',
    'my.yaml:12: steps[0].calls[2].die must be one of SIGTERM, SIGKILL, SIGINT, SIGHUP, SIGABRT, SIGSEGV',
    'my.yaml:13: steps[1].garbage.bytes_hex must be bytes as pairs of hexadecimal digits',
    'my.yaml:14: steps[2].dance is not known here',
  ]);
});

test('a script without steps, or that is no mapping or no YAML, is refused', () => {
  expect(faultsOf('about: nothing\n')).toEqual(['my.yaml:1: script has no steps']);
  expect(faultsOf('- say: hello\n')).toEqual(['my.yaml:1: script must be a mapping']);
  expect(faultsOf('')).toEqual(['my.yaml:1: script must be a mapping']);
  const [first] = faultsOf('steps:\n  - say: "open\n');
  expect(first).toMatch(/^my\.yaml:3: Missing closing "quote/);
  const [twice] = faultsOf('steps: []\nsteps: []\n');
  expect(twice).toMatch(/^my\.yaml:2: Map keys must be unique/);
  expect(faultsOf('steps: [&a {say: x}, *a]\n')).toEqual([
    'my.yaml:1: aliases (*name) cannot be used in a script',
  ]);
});

test('every shipped script can be read and says what it shows', () => {
  const about = shippedNames().map((name) => openScript(name, '.').about);
  expect(about.length).toBeGreaterThan(30);
  expect(about.filter((text) => text === '')).toEqual([]);
});

test('the README names every shipped script and what it shows', () => {
  const text = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');
  const readme = text.replaceAll(/ +\|/g, ' |');
  const rows = shippedNames().map((name) => `| \`${name}\` | ${openScript(name, '.').about} |`);
  expect(readme).toContain(rows.join('\n'));
});

test('words are pieces that make the whole again', () => {
  for (const text of ['', ' ', 'one', '  two words \n', 'a\n\nb']) {
    expect(words(text).join('')).toBe(text);
  }
  expect(words('one two ')).toEqual(['one', ' two ']);
});
