import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cpuMs } from '../../test/cpu-ms.ts';
import { verifies } from '../../test/e2e/verifies.ts';
import { testFolder } from '../../test/fixtures/folder.ts';
import { openSecretHash, secretHash } from '../store/journal/hash.ts';
import { openStateDir } from '../store/state-dir.ts';
import { createGate } from './gate.ts';
import { compilePatterns } from './patterns.ts';
import { createRedactor, type RedactorOptions } from './redact.ts';

const hash = secretHash(Buffer.alloc(32, 1));
const redactor = (options: Partial<RedactorOptions> = {}) =>
  createRedactor({ env: {}, secret_env: [], hash, ...options });

/** Null for a refused pattern. */
const compiled = (pattern: string) => {
  try {
    return compilePatterns([pattern]);
  } catch {
    return null;
  }
};

// Assembled here, so that no scanner mistakes the test for a leak.
const letters = 'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0eFgHiJkLmNoPqRsTuVwXyZ';
const join = (...parts: string[]) => parts.join('');
const PEM = join(
  '-----BEGIN RSA ',
  'PRIVATE KEY-----\n',
  `${letters}\n`.repeat(20),
  '-----END RSA ',
  'PRIVATE KEY-----',
);
const SECRETS: Record<string, string> = {
  anthropic: join('sk-', 'ant-api03-', letters),
  openai: join('sk-', 'proj-', letters),
  openai_old: join('sk-', letters.slice(0, 48)),
  github: join('gh', 'p_', letters.slice(0, 36)),
  github_pat: join('github', '_pat_', letters.slice(0, 22), '_', letters),
  gitlab: join('gl', 'pat-', letters.slice(0, 20)),
  aws: join('AK', 'IA', 'IOSFODNN7EXAMPLE'.replaceAll(/[0189]/g, '2')),
  google: join('AI', 'za', letters.slice(0, 35)),
  slack: join('xo', 'xb-123456789012-', letters.slice(0, 24)),
  stripe: join('sk', '_live_', letters.slice(0, 24)),
  npm: join('np', 'm_', letters.slice(0, 36)),
  huggingface: join('h', 'f_', letters.slice(0, 34)),
  sendgrid: join('S', 'G.', letters.slice(0, 22), '.', letters.slice(0, 43)),
  jwt: join('ey', 'JhbGciOiJIUzI1NiJ9.', 'ey', 'JzdWIiOiIxMjM0NTY3ODkwIn0.', letters.slice(0, 43)),
  pem: PEM,
};
const ENV_VALUE = 'Tr0ub4dor & "3" /+é\\horse';

describe('what is found', () => {
  verifies(
    'ST-7',
    'every known key shape is replaced by its kind and a mark, in any surroundings',
    () => {
      for (const [name, secret] of Object.entries(SECRETS)) {
        const kind = name.split('_')[0];
        const mark = `[REDACTED:${kind}:${hash(secret)}]`;
        for (const [before, after] of [
          ['', ''],
          ['key=', ' then'],
          ['{"k":"', '"}'],
          ['(', ')'],
          ['\\n', '\\n'],
          ['\u001b[31m', '\u001b[0m'],
          ['é“', '”'],
          ['x '.repeat(500), ' y'.repeat(500)],
        ]) {
          expect(redactor().text(`${before}${secret}${after}`)).toBe(`${before}${mark}${after}`);
        }
      }
    },
  );

  verifies('ST-7', 'headers, passwords in URLs and key pairs are replaced in place', () => {
    const mark = (kind: string, secret: string) => `[REDACTED:${kind}:${hash(secret)}]`;
    const basic = 'dXNlcjpwYXNz';
    const aws = letters.slice(0, 38).concat('/+');
    const cases: [string, string][] = [
      [`Authorization: Basic ${basic}`, `Authorization: Basic ${mark('authorization', basic)}`],
      [
        `"authorization": "token ${letters}"`,
        `"authorization": "token ${mark('authorization', letters)}"`,
      ],
      [
        `\\"Authorization\\":\\"${letters}\\"`,
        `\\"Authorization\\":\\"${mark('authorization', letters)}\\"`,
      ],
      [`curl -H 'X-Api-Key: ${letters}'`, `curl -H 'X-Api-Key: ${mark('authorization', letters)}'`],
      [`Bearer ${letters}.`, `Bearer ${mark('authorization', `${letters}.`)}`],
      [
        'git clone https://me:hunter2@host/x',
        `git clone https://me:${mark('url', 'hunter2')}@host/x`,
      ],
      [`https://${letters}@host/x`, `https://${mark('url', letters)}@host/x`],
      [`AWS_SECRET_ACCESS_KEY=${aws}\n`, `AWS_SECRET_ACCESS_KEY=${mark('aws', aws)}\n`],
      [`"SecretAccessKey": "${aws}"`, `"SecretAccessKey": "${mark('aws', aws)}"`],
    ];
    for (const [text, expected] of cases) expect(redactor().text(text)).toBe(expected);
  });

  test('ordinary text is left unchanged', () => {
    const texts = [
      'task-management-system-configuration-and-deployment-pipeline',
      'The bearer authentication scheme; Authorization: none; see https://user@host/path:1@2',
      'https://example.com:8080/a@b?c=d postgres://user:$PASSWORD@db/x http://a:****@b',
      '5f0c7b8e-1c2d-4e3f-9a8b-7c6d5e4f3a2b 2026-11-15T03:02:56.123Z /usr/lib/node_modules/some-long-package-name/index.js',
      'sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----',
      'sk-ant-dummy-000 eyJhbGciOiJIUzI1NiJ9 desk-proj-a',
      '',
    ];
    for (const text of texts) expect(redactor().text(text)).toBe(text);
    expect(redactor().counts()).toEqual({});
  });

  verifies(
    'ST-7',
    "the run's secret variables are found in every form they are printed in, under one mark",
    () => {
      const env = { DB_PASSWORD: ENV_VALUE, MY_FLAG: 'listed value', HOME: '/home/me' };
      const tool = redactor({ env, secret_env: ['MY_FLAG'] });
      const mark = `[REDACTED:env:${hash(ENV_VALUE)}]`;
      const base64 = (text: string) => Buffer.from(text).toString('base64');
      expect(tool.text(`a ${ENV_VALUE} b`)).toBe(`a ${mark} b`);
      expect(tool.text(JSON.stringify({ a: ENV_VALUE }))).toBe(`{"a":"${mark}"}`);
      expect(tool.text(JSON.stringify(JSON.stringify(ENV_VALUE)))).toBe(`"\\"${mark}\\""`);
      expect(tool.text(`q=${encodeURIComponent(ENV_VALUE)}`)).toBe(`q=${mark}`);
      for (const before of ['', 'x', 'xy', 'user:']) {
        expect(tool.text(base64(`${before}${ENV_VALUE}\n`))).toContain(mark);
      }
      expect(tool.text('the listed value of /home/me')).toBe(
        `the [REDACTED:env:${hash('listed value')}] of /home/me`,
      );
      expect(tool.counts()).toEqual({ env: 9 });
    },
  );

  test('variables with a secret-looking name that are switches, paths or short are left unchanged', () => {
    const env = {
      SSH_AUTH_SOCK: '/tmp/ssh-abc/agent.1',
      GIT_AUTHOR_NAME: 'Somebody Long',
      AUTH_MODE: 'something',
      CI_TOKEN: 'short',
      FEATURE_AUTH: 'disabled',
      TOKEN_FILE: 'secrets-of-mine',
    };
    const text = Object.values(env).join(' ');
    expect(redactor({ env }).text(text)).toBe(text);
  });

  verifies(
    'ST-7',
    'a secret of a known shape has the same mark, with or without a variable that names it',
    () => {
      const secret = SECRETS.anthropic as string;
      const named = redactor({ env: { SOME_API_KEY: secret } });
      expect(named.text(secret)).toBe(redactor().text(secret));
      expect(named.text(Buffer.from(secret).toString('base64'))).toContain(redactor().text(secret));
    },
  );

  verifies('ST-7', 'redacting twice changes nothing, and marks are not counted again', () => {
    const env = { A_TOKEN: 'REDACTED:env', B_TOKEN: ENV_VALUE };
    const text = `${Object.values(SECRETS).join(' ')} Authorization: ${ENV_VALUE} https://a:bcdefgh@c/ Bearer ${letters}`;
    const once = redactor({ env }).text(text);
    const again = redactor({ env });
    expect(again.text(once)).toBe(once);
    expect(again.counts()).toEqual({});
    for (const secret of [...Object.values(SECRETS), ENV_VALUE]) expect(once).not.toContain(secret);
  });
});

describe('where it is found', () => {
  verifies(
    'ST-7',
    'a secret anywhere in a value, keys included, is replaced and nothing else changes',
    () => {
      const secrets = [...Object.values(SECRETS), ENV_VALUE];
      const tool = redactor({ env: { X_SECRET: ENV_VALUE } });
      fc.assert(
        fc.property(
          fc.jsonValue({ maxDepth: 4 }),
          fc.constantFrom(...secrets),
          fc.nat(20),
          (value, secret, at) => {
            const clean = JSON.stringify(value);
            fc.pre(tool.text(clean) === clean);
            expect(tool.value(value)).toBe(value);
            let left = at;
            const planted: unknown = JSON.parse(clean, (_key, item: unknown) => {
              left -= 1;
              if (left !== 0) return item;
              return typeof item === 'string'
                ? `${item} ${secret} `
                : { [` ${secret}`]: item, b: secret };
            });
            const before = JSON.stringify(planted);
            const after = JSON.stringify(tool.value(planted));
            expect(after.includes(JSON.stringify(secret).slice(1, -1))).toBe(false);
            const mark = /\[REDACTED:[a-z]+:[0-9a-f]{8}\]/g;
            expect(after.replaceAll(mark, () => JSON.stringify(secret).slice(1, -1))).toBe(before);
          },
        ),
        { numRuns: 500 },
      );
    },
  );

  test('a key named __proto__ stays a key', () => {
    const value = JSON.parse(
      `{"__proto__":{"a":"${SECRETS.npm}"},"b":[1,"${SECRETS.npm}"]}`,
    ) as object;
    const result = redactor().value(value);
    const mark = `[REDACTED:npm:${hash(SECRETS.npm as string)}]`;
    expect(JSON.stringify(result)).toBe(`{"__proto__":{"a":"${mark}"},"b":[1,"${mark}"]}`);
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
  });

  verifies(
    'ST-7',
    'a secret cut into any pieces is found, and the pieces give the same text',
    () => {
      const tool = redactor({ env: { X_SECRET: ENV_VALUE } });
      const secrets = [
        ...Object.values(SECRETS),
        ENV_VALUE,
        `Authorization: Basic ${letters}`,
        `Bearer ${letters}`,
        `x-api-key: ${letters}`,
        `https://user:${letters}@host/path`,
      ];
      for (const secret of secrets) {
        const text = `Some words before ${secret} and some after.\n`;
        const whole = tool.text(text);
        expect(whole).not.toContain(secret);
        for (let cut = 0; cut <= text.length; cut++) {
          const parts = [text.slice(0, cut), text.slice(cut)];
          const given = parts.map((part) => tool.delta('k', part)).join('') + tool.flush('k');
          expect(given).toBe(whole);
        }
      }
      fc.assert(
        fc.property(
          fc.constantFrom(...secrets),
          fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
          (secret, sizes) => {
            const text = `${secret} x ${secret}\n${secret}`;
            let given = '';
            for (let at = 0, i = 0; at < text.length; i++) {
              const size = sizes[i % sizes.length] as number;
              given += tool.delta('p', text.slice(at, at + size));
              at += size;
            }
            expect(given + tool.flush('p')).toBe(tool.text(text));
          },
        ),
        { numRuns: 200 },
      );
    },
  );

  verifies(
    'ST-7',
    'the word before a secret is kept with it, whatever known secret its end looks like',
    () => {
      // Base64 of the variable begins as the token ends, so it may continue on the next line.
      const tool = redactor({ env: { X_SECRET: 'w6FNEHsdQybAMl7moGzL' } });
      for (const end of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-') {
        const text = `a Bearer ${letters}${end}\nx-api-key: ${letters}${end},Bearer ${letters} b`;
        const given = [...text].map((char) => tool.delta('k', char)).join('') + tool.flush('k');
        expect(given).toBe(tool.text(text));
      }
    },
  );

  test('text in pieces is passed on immediately, except for the word in progress', () => {
    const tool = redactor();
    expect(['Hello wor', 'ld, this ', 'is', ' it'].map((part) => tool.delta('k', part))).toEqual([
      'Hello ',
      'world, this ',
      '',
      'is ',
    ]);
    expect([tool.flush('k'), tool.flush('k')]).toEqual(['it', '']);
  });

  verifies(
    'ST-7',
    'the held back text is bounded, and a key block too long to hold leaves nothing',
    () => {
      const tool = redactor();
      const blob = 'ab1-'.repeat(50_000);
      let given = '';
      let behind = 0;
      for (let at = 0; at < blob.length; at += 100) {
        given += tool.delta('b', blob.slice(at, at + 100));
        behind = Math.max(behind, at + 100 - given.length);
      }
      expect(given + tool.flush('b')).toBe(blob);
      expect(behind).toBeLessThanOrEqual(4096 + 100);
      const begin = '-----BEGIN PRIVATE KEY-----\n';
      const long = `a ${begin}${`${letters}\n`.repeat(400)}-----END PRIVATE KEY----- b`;
      let text = '';
      for (let at = 0; at < long.length; at += 7) text += tool.delta('c', long.slice(at, at + 7));
      text += tool.flush('c');
      expect(text).toMatch(/^a \[REDACTED:pem:[0-9a-f]{8}\] b$/);
    },
  );
});

describe('events', () => {
  const secret = SECRETS.github as string;
  const mark = `[REDACTED:github:${hash(secret)}]`;

  verifies(
    'ST-7',
    'every string of an event is redacted, and an event without secrets stays the same object',
    () => {
      const tool = redactor();
      const event = {
        kind: 'call_finished',
        data: { call_id: 'c1', tool: 'Bash', output: `token ${secret}`, exit_code: 0 },
      };
      expect(createGate(tool).event(event)).toEqual({
        kind: 'call_finished',
        data: { call_id: 'c1', tool: 'Bash', output: `token ${mark}`, exit_code: 0 },
      });
      const clean = { kind: 'notice', data: { code: 'x', text: null } };
      expect(createGate(tool).event(clean)).toBe(clean);
      expect(tool.counts()).toEqual({ github: 1 });
    },
  );

  verifies(
    'ST-7',
    "a secret that is one of tacho's own words is redacted in what others say, and the record stays whole",
    () => {
      const tool = redactor({
        env: { A_TOKEN: 'complete', B_TOKEN: 'tool_calls', C_TOKEN: 'process_exit' },
        patterns: ['\\w{10,}'],
      });
      const marks = Object.fromEntries(
        ['complete', 'tool_calls', 'incomplete'].map((word) => [
          word,
          tool.text(`  ${word}  `).trim(),
        ]),
      );
      const data = {
        exit_reason: 'incomplete',
        final_output: 'complete',
        tool_calls: 1,
        terminal_evidence: 'process_exit',
        completeness: { grade: 'complete', gaps: ['unfinished_call:1'], filled: [] },
        config: { agent: 'opencode', labels: { tool_calls: 'complete' }, final_output_path: null },
      };
      expect(createGate(tool).event({ kind: 'run_finished', data }).data).toEqual({
        ...data,
        final_output: marks.complete,
        config: { ...data.config, labels: { [marks.tool_calls as string]: marks.complete } },
      });
      const problem = { kind: 'problem', data: { code: 'unfinished_call', detail: 'incomplete' } };
      expect(createGate(tool).event(problem).data).toEqual({
        code: 'unfinished_call',
        detail: marks.incomplete,
      });
      const delta = {
        kind: 'message_delta',
        data: { message_id: 'm', parent_call_id: null, text: 'a ' },
      };
      expect(createGate(tool).drafts([delta], '')).toEqual([delta]);
    },
  );

  verifies(
    'ST-7',
    'a secret split over message deltas is found; the rest is sent before the end',
    () => {
      const tool = redactor();
      const ids = { message_id: 'm', parent_call_id: null };
      const delta = (text: string) => ({ kind: 'message_delta', data: { ...ids, text } });
      const end = { kind: 'message_finished', data: { ...ids, text: `My token is ${secret} end` } };
      const pieces = ['My token is ', secret.slice(0, 9), secret.slice(9), ' end'].map(delta);
      const { drafts: transform, held, event } = createGate(tool);
      const drafts = pieces.flatMap((piece) => transform([piece], ''));
      const last = transform([end], '');
      const texts = [...drafts, ...last.slice(0, -1)].map(({ data }) => data.text);
      expect(texts.join('')).toBe(`My token is ${mark} end`);
      expect(last).toEqual([delta('end'), end]);
      expect(event(end).data.text).toBe(`My token is ${mark} end`);
      expect(transform([end], '')).toEqual([end]);
      expect(held()).toEqual([]);
      expect(transform([delta(`no end: ${secret}`)], '')).toEqual([delta('no end: ')]);
      expect(held()).toEqual([delta(mark)]);
      expect(held()).toEqual([]);
    },
  );
});

describe('cost', () => {
  verifies('ST-7', 'every rule reads every mebibyte of text quickly', () => {
    const pieces = [
      'A',
      '-',
      '_',
      ' ',
      '"',
      '-----BEGIN ',
      '-----BEGIN PRIVATE KEY-----',
      'eyJ',
      'eyJhbGciOiJIUzI1.',
    ];
    pieces.push(
      'eyJhbGciOiJIUzI1NiIsInR5cCI6.eyJ',
      'sk-',
      'sk-ant-',
      `ghp_${'a'.repeat(29)} `,
      '://',
      '://a:',
      '://a:b@',
    );
    pieces.push(
      `a://x:${'y'.repeat(600)}`,
      'Bearer ',
      'Bearer a1',
      'Authorization: ',
      'authorization="\\"',
      'AKIA',
      'SG.',
    );
    pieces.push(
      'secret_access_key = "AAAA',
      'x-api-key: ',
      'xoxb-',
      'AIza',
      '[REDACTED:env:0000000',
      'abcdefg',
      'abcdefgh',
    );
    const tool = redactor({ env: { X_TOKEN: 'abcdefgX', Y_TOKEN: `${'a'.repeat(50)}b` } });
    const slow: string[] = [];
    for (const piece of pieces) {
      const text = piece.repeat(Math.ceil(2 ** 20 / piece.length));
      const start = cpuMs();
      tool.text(text);
      const ms = cpuMs() - start;
      // Some 30 ms on an idle machine; the guarded cases take seconds.
      if (ms > 1_000) slow.push(`${piece}: ${ms} ms`);
    }
    expect(slow).toEqual([]);
  });

  verifies(
    'ST-7',
    'configured patterns are found, and unsupported ones are refused with a reason',
    () => {
      const tool = redactor({ patterns: ['ACME-[0-9]{4,}', '(?:foo|bar)secret', 'pin=\\d+?;'] });
      expect(tool.text('ACME-12345 barsecret pin=77; rest')).toBe(
        `[REDACTED:pattern:${hash('ACME-12345')}] [REDACTED:pattern:${hash('barsecret')}] [REDACTED:pattern:${hash('pin=77;')}] rest`,
      );
      const refused: Record<string, string> = {
        '(x)\\1': 'refers back to a group',
        '(?<n>x)\\k<n>': 'refers back to a group',
        '(?=a)b': 'looks ahead or behind',
        '(?<!a)b': 'looks ahead or behind',
        '(?i:a)b': 'has a kind of group that is not supported',
        '\\p{L}x': 'has the escape \\p, which is not supported',
        'a\\01': 'has an octal number',
        '[\\w-z]a': 'has a range from or to a class',
        'a{x': 'has a { that does not begin a count',
        'a**': 'is not a valid regular expression: Nothing to repeat',
        '(a*)*b': 'repeats something that may be empty',
        '.{0,1000}z': 'is too large',
        'a{1,99999999999999999999}b': 'is too large',
        '(?:(?:a{20}){20}){20}': 'is too large',
        '.{0,200}z': 'takes too many steps',
        'a*': 'matches nothing at all',
        '(': 'is not a valid regular expression: Unterminated group',
        [`a${'b'.repeat(600)}`]: 'is longer than 512 characters',
      };
      for (const [pattern, why] of Object.entries(refused)) {
        expect(() => redactor({ patterns: [pattern] }), pattern).toThrow(why);
      }
    },
  );

  verifies('ST-7', 'every pattern is bounded, however its quantifiers are nested', () => {
    const patterns = [
      ...['(a|a){1,}b', '(a|a){00001,}b', '(?:a|a){000001,00000200}b', '(?:a{00001,}){00001,}b'],
      ...[
        '(a+)+b',
        '(a*)*b',
        '(a|aa)+$',
        '(?:.*a){20}',
        '\\s*\\s*\\s*x',
        '.*.*.*x',
        '(a*)(b*)(c*)d',
      ],
      ...['a|a[^z]*z', '(?:x+x+)+y', '[^z]{0,30}z', '^(?:(?:a|a)*)*$'],
    ];
    const size = 2 ** 16;
    const texts = ['a', 'x', ' ', 'ab', 'aaaaaaaaab '].map((part) =>
      part.repeat(Math.ceil(size / part.length)),
    );
    const slow: string[] = [];
    for (const pattern of patterns) {
      const made = compiled(pattern);
      for (const text of texts) {
        const start = process.cpuUsage();
        made?.find(text, () => undefined);
        const ms = process.cpuUsage(start).user / 1_000;
        // Bounded by the budget: some 40 ms on an idle machine.
        if (ms > 2_000) slow.push(`${pattern} on ${text.slice(0, 10)}: ${ms} ms`);
      }
    }
    expect(slow).toEqual([]);
  });

  verifies('ST-7', 'a pattern that uses up its steps leaves none of the text readable', () => {
    // The samples used to test a pattern contain no such text.
    const text = `${'ab'.repeat(50_000)}secret-b`;
    const tool = redactor({ patterns: ['b(?:a[^zc]*z)?'] });
    expect(tool.text(text).replaceAll(/\[REDACTED:pattern:\w+\]/g, '')).not.toContain('b');
    expect(tool.text(text)).not.toContain('secret');
  });

  test('a pattern matches the same as the JavaScript expression', () => {
    const atom = fc.constantFrom(
      'a',
      'b',
      '.',
      '[ab]',
      '[^a]',
      '\\w',
      '\\d',
      '\\b',
      'c',
      '\\.',
      '-',
      '[b-c.]',
    );
    const quantifier = fc.constantFrom('', '', '', '+', '*', '?', '{2}', '{1,3}', '+?', '{0,2}?');
    const piece = fc
      .tuple(atom, quantifier)
      .map(([text, many]) => (text === '\\b' ? text : text + many));
    const sequence = fc.array(piece, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''));
    const group = fc
      .tuple(fc.array(sequence, { minLength: 1, maxLength: 3 }), quantifier)
      .map(([parts, many]) => `(?:${parts.join('|')})${many}`);
    const source = fc
      .array(fc.oneof(sequence, group), { minLength: 1, maxLength: 3 })
      .map((parts) => parts.join(''));
    const text = fc
      .array(fc.constantFrom(...'aabbcc1 -.\n'), { maxLength: 24 })
      .map((chars) => chars.join(''));
    fc.assert(
      fc.property(source, text, (pattern, sample) => {
        const native = new RegExp(pattern, 'g');
        fc.pre(!native.test(''));
        native.lastIndex = 0;
        // Empty matches do not count; how JavaScript continues after one does not matter here.
        const meant = [...sample.matchAll(native)];
        fc.pre(meant.every(([whole]) => whole !== ''));
        const found: string[] = [];
        const made = compiled(pattern);
        fc.pre(made !== null);
        made?.find(sample, (start, end) => found.push(sample.slice(start, end)));
        expect(found).toEqual(meant.map(([whole]) => whole));
      }),
      { numRuns: 400 },
    );
  });
});

test("a folder's key is created once, and its marks stay the same", () => {
  const state = openStateDir(testFolder());
  const first = openSecretHash(state);
  expect(openSecretHash(state)('secret')).toBe(first('secret'));
  expect(first('secret')).toMatch(/^[0-9a-f]{8}$/);
  expect(openSecretHash(openStateDir(testFolder()))('secret')).not.toBe(first('secret'));
  expect(hash('text')).toBe(secretHash(Buffer.alloc(32, 1))('text'));
});
