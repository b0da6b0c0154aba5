import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { createMaker } from '../../../test/build-events.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { useLimits } from '../../../test/use-limits.ts';
import { APP_LIMITS } from '../limits.ts';
import { createNotifier, type Notification } from './notify.ts';
import type { NotifyRule } from './notify-rules.ts';

const RULE: NotifyRule = {
  name: 'rule',
  states: [],
  cost_over: null,
  calls: [],
  agents: [],
  projects: [],
  interval_ms: 0,
  desktop: false,
  webhook: null,
  command: null,
};

const RUN = {
  run_id: 'r_1',
  agent: 'demo',
  project: '/home/u/work/shop',
  prompt: 'Fix the bug',
};

function open(rules: readonly Partial<NotifyRule>[], env: NodeJS.ProcessEnv = process.env) {
  const notifier = createNotifier(
    rules.map((rule) => ({ ...RULE, ...rule })),
    { env, platform: 'linux' },
  );
  onTestFinished(() => notifier.close());
  return notifier;
}

/** A command that appends its input to a file, as lines of JSON. */
function recorder() {
  const path = join(testFolder(), 'notified.jsonl');
  const command = ['/bin/sh', '-c', 'cat >> "$1"', 'sh', path];
  const seen = (): Notification[] =>
    existsSync(path)
      ? readFileSync(path, 'utf8')
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as Notification)
      : [];
  return { command, seen };
}

async function server(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const bodies: unknown[] = [];
  const http = createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      bodies.push(JSON.parse(body || 'null'));
      answer(request, response);
    });
  });
  await new Promise<void>((done) => http.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/hook?token=secret`, bodies };
}

async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 600 && !holds(); i++) await sleep(25);
  expect(holds()).toBe(true);
}

verifies('WA-16', 'a state notifies once per change, with a command that gets JSON', async () => {
  const { command, seen } = recorder();
  const notifier = open([{ name: 'mine', states: ['waiting', 'stuck'], command }]);
  notifier.state(RUN, 'working', 'a record 2 s ago');
  notifier.state(RUN, 'waiting', 'the turn ended');
  notifier.state(RUN, 'waiting', 'the turn ended');
  await until(() => seen().length === 1);
  notifier.state(RUN, 'working', null);
  notifier.state(RUN, 'stuck', 'no bytes for 5 minutes');
  notifier.state({ ...RUN, run_id: 'r_2' }, 'waiting', null);
  notifier.state(RUN, 'gone', 'its process no longer exists');
  await notifier.close();
  expect(seen()[0]).toEqual({
    schema: 'tacho.notify.v1',
    rule: 'mine',
    at: expect.stringMatching(/^\d{4}-.*Z$/),
    what: 'state',
    title: 'demo is waiting',
    text: 'the turn ended · Fix the bug · in shop · r_1',
    state: 'waiting',
    reason: 'the turn ended',
    cost_usd: null,
    call: null,
    held_back: 0,
    ...RUN,
  });
  const others = seen().slice(1);
  expect(others.map(({ run_id, state }) => `${run_id} ${state}`).sort()).toEqual([
    'r_1 stuck',
    'r_2 waiting',
  ]);
  expect(notifier.status()).toEqual({ sent: 3, failed: 0, held_back: 0, last_failure: null });
});

verifies('WA-16', 'a cost notifies once per run; an unknown cost never', async () => {
  const { command, seen } = recorder();
  const notifier = open([{ cost_over: 5, command }]);
  for (const usd of [null, 4.99, 5, 5.01, 7]) notifier.cost(RUN, usd);
  await notifier.close();
  expect(seen()).toMatchObject([
    { what: 'cost', cost_usd: 5.01, title: 'demo has cost $5.01, over $5.00' },
  ]);
});

verifies('WA-16', 'filters choose the agent and the project', async () => {
  const { command, seen } = recorder();
  const notifier = open([
    { name: 'agent', states: ['waiting'], agents: ['other'], command },
    { name: 'project', states: ['waiting'], projects: ['/home/u/work'], command },
  ]);
  notifier.state(RUN, 'waiting', null);
  notifier.state({ ...RUN, run_id: 'r_2', project: '/home/u/workshop' }, 'waiting', null);
  notifier.state({ ...RUN, run_id: 'r_3', project: null }, 'waiting', null);
  notifier.state({ ...RUN, run_id: 'r_4', agent: 'other', project: null }, 'waiting', null);
  await notifier.close();
  expect(
    seen()
      .map(({ rule, run_id }) => `${rule} ${run_id}`)
      .sort(),
  ).toEqual(['agent r_4', 'project r_1']);
});

const make = createMaker();
const bash = (command: unknown) => make('call_requested', { tool: 'Bash', input: { command } });

for (const [pattern, event, text] of [
  ['rm -rf', bash('cd /tmp && rm -rf x'), 'cd /tmp && rm -rf x'],
  ['rm -rf', bash(['rm', '-rf', 'x']), 'rm -rf x'],
  ['.env', make('call_requested', { tool: 'Read', input: { file_path: '/a/.env' } }), '/a/.env'],
  ['.env', make('call_requested', { tool: 'Bash', input: {}, reads: ['.env'] }), '.env'],
  ['.env', make('file_changed', { path: 'app/.env', operation: 'modified' }), 'app/.env'],
  [
    'mcp__mail__',
    make('call_requested', { tool: 'mcp__mail__send', input: {} }),
    'mcp__mail__send',
  ],
  [
    '/^git push .*(--force|-f)\\b/',
    bash('git push origin main --force'),
    'git push origin main --force',
  ],
  [
    'secrets/',
    make('call_requested', { tool: 'x', input: { edits: [{ filePath: 'secrets/a' }] } }),
    'secrets/a',
  ],
  ['rm -rf', bash('echo rm'), null],
  ['.env', make('call_requested', { tool: 'Write', input: { content: 'the .env file' } }), null],
  ['/^git push$/', bash('git push origin'), null],
  ['rm -rf', make('message_finished', { text: 'rm -rf' }), null],
] as const)
  verifies(
    'WA-16',
    `the pattern ${pattern} ${text === null ? 'does not match' : 'matches'} ${JSON.stringify(event.data).slice(0, 90)}`,
    async () => {
      const { command, seen } = recorder();
      const notifier = open([{ calls: ['no such', pattern], command }]);
      notifier.call(RUN, event);
      await notifier.close();
      expect(seen().map(({ call }) => call)).toEqual(
        text === null ? [] : [{ seq: event.seq, tool: expect.any(String), text, pattern }],
      );
    },
  );

verifies('WA-16', 'a pattern that would take forever with backtracking ends', async () => {
  const { command, seen } = recorder();
  const notifier = open([{ calls: ['/(a+)+b/', '/^(\\w| \\w)*!$/'], command }]);
  notifier.call(RUN, bash('a'.repeat(60_000)));
  await notifier.close();
  expect(seen()).toEqual([]);
});

verifies(
  'WA-16',
  'within the interval, the last notification about a run waits, and earlier ones are counted',
  async () => {
    const { command, seen } = recorder();
    const notifier = open([{ calls: ['rm'], interval_ms: 700, command }]);
    for (const name of ['a', 'b', 'c', 'd']) notifier.call(RUN, bash(`rm ${name}`));
    expect(notifier.status().held_back).toBe(3);
    await until(() => seen().length === 2);
    const sent = seen().sort((a, b) => a.held_back - b.held_back);
    expect(sent.map(({ call, held_back }) => [call?.text, held_back])).toEqual([
      ['rm a', 0],
      ['rm d', 2],
    ]);
  },
);

verifies(
  'WA-16',
  'a state that is no longer true at the end of the interval is not reported',
  async () => {
    const { command, seen } = recorder();
    const notifier = open([{ states: ['waiting'], interval_ms: 500, command }]);
    notifier.state(RUN, 'waiting', 'first');
    notifier.state(RUN, 'working', null);
    notifier.state(RUN, 'waiting', 'second');
    notifier.state(RUN, 'working', null);
    notifier.state({ ...RUN, run_id: 'r_2' }, 'waiting', 'another run');
    await sleep(900);
    notifier.state(RUN, 'waiting', 'third');
    await until(() => seen().length === 3);
    expect(
      seen()
        .map(({ reason }) => reason)
        .sort(),
    ).toEqual(['another run', 'first', 'third']);
  },
);

verifies(
  'WA-16',
  'a webhook gets JSON, is tried again after a failure, and its URL is in no message',
  async () => {
    let failures = 1;
    const { url, bodies } = await server((request, response) => {
      response.statusCode = failures-- > 0 ? 503 : 200;
      expect(request.method).toBe('POST');
      expect(request.headers['content-type']).toBe('application/json');
      response.end('thanks');
    });
    const notifier = open([{ states: ['stuck'], webhook: url }]);
    notifier.state(RUN, 'stuck', 'no bytes for 5 minutes');
    await until(() => notifier.status().sent === 1);
    expect(bodies).toMatchObject([
      { what: 'state', state: 'stuck', run_id: 'r_1' },
      { what: 'state', state: 'stuck', run_id: 'r_1' },
    ]);
    const refusing = open([
      { name: 'gone', states: ['stuck'], webhook: 'http://127.0.0.1:1/?token=secret' },
    ]);
    refusing.state(RUN, 'stuck', null);
    await until(() => refusing.status().failed === 1);
    expect(refusing.status().last_failure).toMatch(
      /^gone: webhook: the server cannot be reached: /,
    );
    expect(JSON.stringify(refusing.status())).not.toMatch(/secret|token/);
  },
);

verifies(
  'WA-16',
  'a webhook does not follow redirects, and is not tried again after a refusal',
  async () => {
    const target = await server((_request, response) => response.end());
    const { url, bodies } = await server((_request, response) => {
      response.writeHead(307, { location: target.url }).end();
    });
    const notifier = open([{ states: ['stuck'], webhook: url }]);
    notifier.state(RUN, 'stuck', null);
    await until(() => notifier.status().failed === 1);
    expect(notifier.status().last_failure).toBe('rule: webhook: the server answered 307');
    expect([bodies.length, target.bodies.length]).toEqual([1, 0]);
  },
);

verifies('WA-16', 'a webhook that does not answer times out', async () => {
  useLimits(APP_LIMITS, { notify_action_ms: 1_000 });
  const { url, bodies } = await server(() => {});
  const notifier = open([{ states: ['stuck'], webhook: url }]);
  notifier.state(RUN, 'stuck', null);
  await until(() => notifier.status().failed === 1);
  expect(notifier.status().last_failure).toBe('rule: webhook: timed out after 1.0s');
  expect(bodies.length).toBeGreaterThan(0);
});

verifies('WA-16', 'a command that hangs is killed with everything that it started', async () => {
  useLimits(APP_LIMITS, { notify_action_ms: 3_000 });
  const pid_file = join(testFolder(), 'pid');
  const script = 'sleep 1000 & echo $! > "$1"; wait';
  const notifier = open([
    { states: ['stuck'], command: ['/bin/sh', '-c', script, 'sh', pid_file] },
  ]);
  notifier.state(RUN, 'stuck', null);
  await until(() => notifier.status().failed === 1);
  expect(notifier.status().last_failure).toBe('rule: command: timed out after 3.0s');
  const pid = Number(readFileSync(pid_file, 'utf8'));
  await until(() => {
    try {
      return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    } catch {
      return true;
    }
  });
});

verifies(
  'WA-16',
  'a failing and a missing command are counted, and do not affect other rules',
  async () => {
    const { command, seen } = recorder();
    const notifier = open([
      { states: ['gone'], command: ['/bin/sh', '-c', 'exit 3'] },
      { states: ['gone'], command: ['/missing/program'] },
      { states: ['gone'], command: ['/bin/echo', 'a\0b'] },
      { states: ['gone'], command },
    ]);
    notifier.state(RUN, 'gone', null);
    await until(() => notifier.status().failed === 3 && seen().length === 1);
    expect(notifier.status().sent).toBe(1);
  },
);

/** A notify-send that writes each argument on a line. */
function desktop(): { env: NodeJS.ProcessEnv; shown(): string[] } {
  const folder = testFolder();
  mkdirSync(join(folder, 'bin'));
  const program = join(folder, 'bin/notify-send');
  writeFileSync(
    program,
    '#!/bin/sh\nfor word in "$@"; do printf "%s\\n" "$word"; done >> "$SHOWN"\n',
  );
  chmodSync(program, 0o755);
  const SHOWN = join(folder, 'shown');
  const env = { PATH: [join(folder, 'bin'), '/usr/bin', '/bin'].join(delimiter), SHOWN };
  return { env, shown: () => (existsSync(SHOWN) ? readFileSync(SHOWN, 'utf8').split('\n') : []) };
}

verifies(
  'WA-16',
  'the desktop shows texts without markup, control characters, options and shell syntax',
  async () => {
    const { env, shown } = desktop();
    const notifier = open([{ states: ['waiting'], desktop: true }], env);
    const prompt = `--x <b>bold</b> & "$(touch /tmp/x)" \`id\`\u001b]0;title\u0007\u202e\n\nnext ${'y'.repeat(999)}`;
    notifier.state({ ...RUN, project: null, prompt }, 'waiting', null);
    await until(() => notifier.status().sent === 1);
    const [app, dashes, title, text = '', end, ...more] = shown();
    expect([app, dashes, title, end, more]).toEqual([
      '--app-name=tacho',
      '--',
      'demo is waiting',
      '',
      [],
    ]);
    expect(text).toMatch(
      /^\u2010-x &lt;b&gt;bold&lt;\/b&gt; &amp; "\$\(touch \/tmp\/x\)" `id`\\u\{1b\}\]0;title\\u\{7\}\\u\{202e\} next y+…$/,
    );
    expect(text.length).toBeLessThan(400);
  },
);

verifies('WA-16', 'a desktop without the program is a counted failure', async () => {
  const notifier = open([{ states: ['waiting'], desktop: true }], { PATH: testFolder() });
  notifier.state(RUN, 'waiting', null);
  await until(() => notifier.status().failed === 1);
  expect(notifier.status().last_failure).toBe('rule: desktop: notify-send is not installed');
});

verifies(
  'WA-16',
  'more notifications than the limit per minute are counted and not sent',
  async () => {
    useLimits(APP_LIMITS, { notify_per_minute_max: 3 });
    const { command, seen } = recorder();
    const notifier = open([{ states: ['waiting'], command }]);
    for (let i = 0; i < 50; i++) notifier.state({ ...RUN, run_id: `r_${i}` }, 'waiting', null);
    await notifier.close();
    expect(seen().length).toBeLessThanOrEqual(6);
    expect(notifier.status().held_back).toBeGreaterThanOrEqual(44);
  },
);

verifies(
  'WA-16',
  'closing ends commands that are still running, and later events notify nobody',
  async () => {
    useLimits(APP_LIMITS, { notify_close_ms: 200 });
    const notifier = open([{ states: ['waiting'], command: ['/bin/sleep', '1000'] }]);
    notifier.state(RUN, 'waiting', null);
    await notifier.close();
    expect(notifier.status()).toMatchObject({
      failed: 1,
      last_failure: 'rule: command: was stopped',
    });
    notifier.state({ ...RUN, run_id: 'r_2' }, 'waiting', null);
    expect(notifier.status()).toMatchObject({ sent: 0, failed: 1 });
  },
);

verifies('WA-16', 'without rules nothing happens', async () => {
  const notifier = open([]);
  notifier.state(RUN, 'waiting', null);
  notifier.cost(RUN, 100);
  notifier.call(RUN, bash('rm -rf /'));
  await notifier.close();
  expect(notifier.status()).toEqual({ sent: 0, failed: 0, held_back: 0, last_failure: null });
});
