import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { LIMITS } from '../lib/limits.ts';
import { secretHash } from '../store/journal/hash.ts';
import { createGate } from './gate.ts';
import { createRedactor } from './redact.ts';

const hash = secretHash(Buffer.alloc(32, 1));
const redactor = (env: Record<string, string>, patterns: string[] = []) =>
  createRedactor({ env, secret_env: [], patterns, hash });
const markOf = (value: string, kind = 'env') => `[REDACTED:${kind}:${hash(value)}]`;

/** Characters without a pattern, the same in every run. */
const noise = (length: number, seed = 1) => {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'[(state >>> 16) % 62];
  };
  return Array.from({ length }, next).join('');
};
const KEY_LINES = Array.from({ length: 12 }, (_, i) => noise(64, i + 1)).concat(noise(20, 99));
const begin = (label: string) => ['-----BEGIN', label, 'PRIVATE KEY-----'].join(' ');
const end = (label: string) => ['-----END', label, 'PRIVATE KEY-----'].join(' ');
const KEY = [begin('RSA'), ...KEY_LINES, end('RSA')];

describe('values of variables', () => {
  verifies('ST-7', 'a value of at least 6 characters is redacted, however long it is', () => {
    for (const length of [6, 7, 8, 100, 4096, 4097, 5334, 100_000]) {
      const value = noise(length);
      const tool = redactor({ MY_SECRET: value });
      expect(tool.text(`x ${value} y`)).toBe(`x ${markOf(value)} y`);
      let given = '';
      const text = `x ${value} y`;
      for (let at = 0; at < text.length; at += 999)
        given += tool.delta('k', text.slice(at, at + 999));
      expect(given + tool.flush('k')).toBe(`x ${markOf(value)} y`);
    }
  });

  verifies('ST-7', 'a value that is too short is reported, and an empty one is not', () => {
    const env = {
      MY_PIN_TOKEN: '12345',
      OTHER_TOKEN: '',
      MAX_OUTPUT_TOKENS: '32000',
      AUTH: 'true',
    };
    const tool = redactor({ ...env, LONG_TOKEN: '123456' });
    expect(tool.too_short).toEqual(['MY_PIN_TOKEN']);
    expect(tool.text('12345 123456 32000')).toBe(`12345 ${markOf('123456')} 32000`);
  });

  verifies('ST-7', 'some names look secret, and others do not', () => {
    const secret = [
      ...[
        'MY_API_KEY',
        'APIKEY',
        'DEPLOYKEY',
        'deployKey',
        'SSHKEY',
        'MASTERKEYS',
        'KEY_2',
        'SSHPASS',
      ],
      ...[
        'PASS',
        'DB_PASS',
        'PGPASSWORD',
        'MY_PWD',
        'PASSPHRASE',
        'AWS_CREDS',
        'AZURE_DEVOPS_EXT_PAT',
      ],
      ...[
        'AUTHORIZATION',
        'PROXY_AUTHORIZATION',
        'npm_config__auth',
        'NODE_AUTH_TOKEN',
        'SESSION_COOKIE',
      ],
    ];
    const open = [
      'AUTHOR',
      'GIT_AUTHOR_NAME',
      'MONKEY',
      'HOTKEY',
      'KEYBOARD',
      'COMPASS',
      'PATH',
      'MY_KEY_FILE',
    ];
    const value = 'Zq81mKpXv0tRs5Wd9Lb2';
    const found = (name: string) => redactor({ [name]: value }).text(value) !== value;
    expect(secret.filter((name) => !found(name))).toEqual([]);
    expect(open.filter(found)).toEqual([]);
  });

  verifies('ST-7', 'numbers in the values of a tool are inspected, other numbers are not', () => {
    const tool = redactor({ DEPLOY_TOKEN: '481516234299' }, ['[0-9]{16}']);
    const given = { pin: 481516234299, card: [4111111111111111, 42], n: 1.5 };
    expect(tool.foreign(given)).toEqual({
      pin: markOf('481516234299'),
      card: [markOf('4111111111111111', 'pattern'), 42],
      n: 1.5,
    });
    expect(tool.value(given)).toBe(given);
    const event = {
      kind: 'call_requested',
      data: { call_id: 'c', input: given, duration_ms: 481516234299 },
    };
    expect(createGate(tool).event(event).data).toEqual({
      ...event.data,
      input: tool.foreign(given),
    });
  });

  verifies(
    'ST-7',
    'a known value is found as a number that is rounded or has lost its zeros',
    () => {
      const values = ['12345678901234567895', '1'.repeat(30), '0083920174', '000000', '000042'];
      const tool = redactor(Object.fromEntries(values.map((value, i) => [`A${i}_KEY`, value])));
      const given: unknown = JSON.parse(
        `[${values.map((value) => value.replace(/^0*(?=.)/, ''))}, 7]`,
      );
      expect(tool.foreign(given)).toEqual([
        ...values.slice(0, 3).map((value) => markOf(value)),
        0,
        42,
        7,
      ]);
    },
  );

  verifies('ST-7', 'characters beyond the BMP are also found as two escapes', () => {
    const value = 'q7Zk/9+😀Lm8JtPx';
    const tool = redactor({ MY_API_KEY: value });
    const escaped = value.replaceAll(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16)}`,
    );
    for (const text of [value, escaped, escaped.replaceAll('/', '\\/'), encodeURIComponent(value)])
      expect(tool.text(`{"k":"${text}"}`)).toBe(`{"k":"${markOf(value)}"}`);
  });

  verifies('ST-7', 'each line of a value is a separate secret, with any line end', () => {
    const lines = ['first-line-Kx82mPq0', 'second-line-Tz93nRw1', 'third-line-Lv04bYe2'];
    const value = lines.join('\n');
    for (const written of [value, lines.join('\r\n')]) {
      const tool = redactor({ MY_SECRET: written });
      for (const line of lines) {
        expect(tool.text(`x ${line} y`)).toBe(`x ${markOf(line)} y`);
        expect(tool.text(Buffer.from(line).toString('base64'))).not.toContain(
          Buffer.from(line).toString('base64').slice(0, 12),
        );
      }
      for (const printed of [
        value,
        lines.join('\r\n'),
        `${lines.join('\n  ')}`,
        JSON.stringify(value),
      ]) {
        const safe = tool.text(`a ${printed} b`);
        for (const line of lines) expect(safe).not.toContain(line);
      }
      expect(tool.text(`a ${written} b`)).toBe(`a ${markOf(written)} b`);
    }
  });

  verifies('ST-7', 'a value of short lines is found with either line end', () => {
    const value = ['Kx82', 'mPq0', 'Tz93'].join('\n');
    const printed = value.replaceAll('\n', '\r\n');
    for (const written of [value, printed]) {
      const tool = redactor({ MY_SECRET: written });
      for (const text of [value, printed]) {
        const hex = Buffer.from(text).toString('hex');
        expect(tool.text(`a ${text} b ${hex}`)).toBe(`a ${markOf(written)} b ${markOf(written)}`);
      }
    }
  });

  verifies('ST-7', 'a line of at least 8 characters is a separate secret', () => {
    const tool = redactor({ MY_SECRET: 'Kx82mPq0\nTz93nRw' });
    expect(tool.text('a Kx82mPq0 b Tz93nRw c')).toBe(`a ${markOf('Kx82mPq0')} b Tz93nRw c`);
  });

  verifies('ST-7', 'lines of a value with escaped line breaks are separate secrets', () => {
    const lines = ['first-line-Kx82mPq0', 'second-line-Tz93nRw1', 'third-line-Lv04bYe2'];
    const tool = redactor({ MY_SECRET: lines.join('\\n') });
    for (const line of lines) expect(tool.text(`x ${line} y`)).toBe(`x ${markOf(line)} y`);
  });

  test('lines that reveal nothing of the secret are left unchanged', () => {
    const account = {
      type: 'service_account',
      project_id: 'my-project-4711',
      private_key_id: '0f9e8d7c6b5a49382716',
      private_key: `${KEY.join('\n')}\n`,
      auth_uri: 'https://accounts.example.com/o/oauth2/auth',
      token_uri: 'https://oauth2.example.com/token',
    };
    const tool = redactor({
      GOOGLE_CREDENTIALS: JSON.stringify(account, null, 2),
      TLS_PRIVATE_KEY: KEY.join('\n'),
    });
    const common = [
      '"type": "service_account",',
      '"auth_uri": "https://accounts.example.com/o/oauth2/auth",',
      'https://oauth2.example.com/token',
      'a file that begins with -----BEGIN CERTIFICATE-----',
      '{',
      '}',
    ];
    for (const line of common) expect(tool.text(line)).toBe(line);
    expect(tool.text('id 0f9e8d7c6b5a49382716')).toBe(`id ${markOf('0f9e8d7c6b5a49382716')}`);
    for (const line of KEY_LINES) expect(tool.text(`> ${line}`)).toBe(`> ${markOf(line)}`);
  });

  verifies('ST-7', 'a key within JSON is found line by line, and as a whole', () => {
    const account = { type: 'service_account', private_key: `${KEY.join('\n')}\n` };
    const tool = redactor({ GOOGLE_CREDENTIALS: JSON.stringify(account) });
    for (const line of KEY_LINES) expect(tool.text(`> ${line}`)).toBe(`> ${markOf(line)}`);
    const whole = tool.text(KEY.join('\n'));
    for (const line of KEY_LINES) expect(whole).not.toContain(line);
  });

  verifies('ST-7', 'blanks around a value and lone surrogates in it do not hide it', () => {
    const tool = redactor({ A_TOKEN: ' \tKx82mPq0Tz93 ', B_TOKEN: 'nRw1\ud800Lv04bYe2' });
    expect(tool.text('x Kx82mPq0Tz93 y')).toBe(`x ${markOf('Kx82mPq0Tz93')} y`);
    // As in a file or a pipe.
    expect(tool.text('x nRw1\ufffdLv04bYe2 y')).toBe(`x ${markOf('nRw1\ud800Lv04bYe2')} y`);
  });

  verifies('ST-7', 'escapes in a value, or the beginning of one at its end, do not hide it', () => {
    const tool = redactor({ A_TOKEN: 'Kx82%20mPq0Tz', B_TOKEN: 'Lv04/bYe2nRw%' });
    expect(tool.text('x Kx82 mPq0Tz y')).toBe(`x ${markOf('Kx82%20mPq0Tz')} y`);
    expect(tool.text('x Lv04\\u002fbYe2nRw%41 y')).not.toContain('bYe2nRw');
  });

  test('a value that begins with a slash is a secret; a path is not', () => {
    const env = { AWS_SECRET: '/k3J/8mQ2xW9z', SOME_CREDENTIALS: '/home/me/key.json' };
    const tool = redactor(env);
    expect(tool.text('/k3J/8mQ2xW9z /home/me/key.json')).toBe(
      `${markOf('/k3J/8mQ2xW9z')} /home/me/key.json`,
    );
  });

  test('a secret that begins within another is found to its end', () => {
    const tool = redactor({ A_TOKEN: 'abcdefghij', B_TOKEN: 'ghijklmnop', C_TOKEN: 'x;y<z>12345' });
    expect(tool.text('abcdefghijklmnop')).toMatch(/^\[REDACTED:env:[0-9a-f]{8}\]$/);
    expect(tool.text('Authorization: Bearer x;y<z>12345 end')).not.toContain('12345');
  });

  test('many values take little more time than one', () => {
    const env = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, i) => [`T${i}_TOKEN`, noise(24, i + 1)]),
    );
    const tool = redactor(env);
    const text = noise(2 ** 18, 5).replaceAll(/.{60}/g, '$&\n');
    const start = process.cpuUsage();
    tool.text(text);
    // Some 30 ms on an idle machine.
    expect(process.cpuUsage(start).user / 1_000).toBeLessThan(2_000);
  });

  test('escapes and line breaks are fast in every text', () => {
    const tool = redactor({ A_TOKEN: 'ab\\n"cd%41&lt;12', B_TOKEN: noise(5_000) });
    const slow: string[] = [];
    const parts = [
      '\\',
      '\\\\n',
      '\\u0061',
      '%',
      '%61',
      '%c3',
      '&',
      '&amp;',
      '&#97;',
      'a\n',
      'A\n ',
    ];
    for (const part of [...parts, '\\r\\n', noise(40), `${noise(40)}\n`, `${noise(40)}\\n`]) {
      const text = part.repeat(Math.ceil(2 ** 19 / part.length));
      const start = process.cpuUsage();
      tool.text(text);
      const ms = process.cpuUsage(start).user / 1_000;
      if (ms > 4_000) slow.push(`${JSON.stringify(part.slice(0, 10))}: ${ms} ms`);
    }
    expect(slow).toEqual([]);
  });
});

describe('keys over several lines', () => {
  const drafts = (lines: string[]) =>
    lines.map((text) => ({ kind: 'notice', data: { code: 'stderr', text } }));

  verifies('ST-7', 'a private key is redacted even if each of its lines arrives separately', () => {
    const frames = [
      KEY,
      [begin('OPENSSH'), ...KEY_LINES, end('OPENSSH')],
      [
        begin('PGP').replace('-----', '-----').replace('KEY-----', 'KEY BLOCK-----'),
        '',
        ...KEY_LINES,
        end('PGP').replace('KEY-----', 'KEY BLOCK-----'),
      ],
      [
        '---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----',
        ...KEY_LINES,
        '---- END SSH2 ENCRYPTED PRIVATE KEY ----',
      ],
      [
        begin('EC'),
        'Proc-Type: 4,ENCRYPTED',
        '',
        ...KEY_LINES.map((line) => `  ${line}`),
        end('EC'),
      ],
    ];
    for (const frame of frames) {
      const gate = createGate(redactor({}));
      const redacted = gate.drafts(drafts(['before', ...frame, 'after it all']), 'stderr');
      const text = redacted.map(({ data }) => (data as { text: string }).text).join('\n');
      for (const line of KEY_LINES) expect(text).not.toContain(line);
      expect(text).toMatch(/^before\n/);
      expect(text).toMatch(/\nafter it all$/);
    }
  });

  verifies('ST-7', 'each channel has its own keys, and prose ends an unfinished one', () => {
    const gate = createGate(redactor({}));
    const say = (channel: string, text: string) =>
      (gate.drafts(drafts([text]), channel)[0] as { data: { text: string } }).data.text;
    say('stderr', begin('RSA'));
    expect(say('session a', KEY_LINES[0] as string)).toBe(KEY_LINES[0]);
    expect(say('stderr', KEY_LINES[0] as string)).toBe(markOf(KEY_LINES[0] as string, 'pem'));
    const prose = 'this is a line of ordinary words';
    for (let i = 0; i < 20; i++) expect(say('stderr', prose)).toBe(prose);
    expect(say('stderr', 'Done')).toBe('Done');
  });

  verifies('ST-7', 'an excerpt is redacted before it is cut, wherever the cut is', () => {
    const value = 'Zq81mKpXv0tRs5Wd9Lb2';
    const shape = ['sk', 'ant', 'api03', 'AAbbCCDDeeFFgg00112233445566'].join('-');
    const tool = redactor({ MY_API_KEY: value }, ['ACME [0-9]{6}']);
    const secrets = [value, shape, 'ACME 123456', `Authorization: Basic ${noise(30)}`];
    const fill = fc.constantFrom('x', 'x ', 'x\n', 'é');
    fc.assert(
      fc.property(
        fc.constantFrom(...secrets),
        fc.integer({ min: 0, max: 60 }),
        fill,
        fc.integer({ min: 0, max: 100_000 }),
        (secret, back, part, more) => {
          const room = LIMITS.excerpt_bytes_max - back;
          const before = `${part.repeat(Math.floor(room / Buffer.byteLength(part)))} `;
          const kept = tool.head(
            `${before}${secret} ${'y'.repeat(more)}`,
            LIMITS.excerpt_bytes_max,
          );
          expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(LIMITS.excerpt_bytes_max);
          const bare = secret.split(' ').at(-1) as string;
          for (let size = bare.length; size > 5; size--)
            expect(kept).not.toContain(bare.slice(0, size));
        },
      ),
      { numRuns: 300 },
    );
    // Text cut off beyond the inspected part.
    const far = `${`${value} `.repeat(4_000)}${value}`;
    for (let cut = LIMITS.excerpt_read_bytes - 30; cut < LIMITS.excerpt_read_bytes + 5; cut++) {
      const kept = tool.head(`${'-'.repeat(cut % 31)}${far}`, LIMITS.excerpt_bytes_max);
      expect(kept).not.toContain(value.slice(0, 6));
    }
    // A long key becomes a short mark, so that the end of the inspected text is within the limit.
    const frame = (word: string) => `-----${word} PRIVATE KEY-----\n`;
    const room = LIMITS.excerpt_read_bytes - frame('BEGIN').length - frame('END').length;
    const long = `${frame('BEGIN')}${'A'.repeat(room - 13)}\n${frame('END')}`;
    const kept = tool.head(`${long}${value} `, LIMITS.excerpt_bytes_max);
    expect(kept).toMatch(/^\[REDACTED:pem:[0-9a-f]{8}\]\n$/);
  });
});
