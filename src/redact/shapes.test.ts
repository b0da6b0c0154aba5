import { expect } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { secretHash } from '../store/journal/hash.ts';
import { createRedactor } from './redact.ts';

const hash = secretHash(Buffer.alloc(32, 1));
const redactor = (env: Record<string, string> = {}) =>
  createRedactor({ env, secret_env: [], hash });

// Assembled here, so that no scanner mistakes the test for a leak.
const letters = 'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0eFgHiJkLmNoPqRsTuVwXyZ';
const aws = letters.slice(0, 38).concat('/+');
const json = (text: string, times: number): string =>
  times === 0 ? text : json(JSON.stringify(text), times - 1);

/** Secrets after a word; SECRET is replaced. */
const BEHIND_WORDS = [
  'Authorization: Basic SECRET',
  '{"Authorization" : "Basic SECRET"}',
  'Authorization = Basic SECRET',
  'authorization  =  "token  SECRET"',
  'Proxy-Authorization:\n  Digest SECRET',
  'Bearer     SECRET',
  "'X-Api-Key' : 'SECRET'",
  'x-api-key = SECRET',
  'X-api-KEY: SECRET',
  'Authorization : OAuth  SECRET',
  '"Authorization":  "Klaviyo-API-Key SECRET"',
  'Authorization: unlistedscheme SECRET',
  'https://user:pa@SECRET@host/x',
  json('{"Authorization": "Basic SECRET"}', 3),
];

verifies('ST-7', 'a secret after a word is found in any pieces as in the whole text', () => {
  const ssh2 = ['---- BEGIN SSH2 ', `PRIVATE KEY ----\n${letters}\n---- END SSH2 PRIVATE KEY ----`];
  const texts = [
    ...BEHIND_WORDS.map((text) => text.replace('SECRET', letters)),
    `secret_access_key : ${aws}`,
    `"SecretAccessKey" : "${aws}"`,
    ssh2.join(''),
  ];
  const tool = redactor();
  for (const each of texts) {
    const text = `before ${each} and after`;
    const whole = tool.text(text);
    expect(whole).not.toContain(letters.slice(0, 38));
    const streamed = (parts: readonly string[]) =>
      parts.map((part) => tool.delta('k', part)).join('') + tool.flush('k');
    expect(streamed([...text])).toBe(whole);
    for (let cut = 1; cut < text.length; cut++)
      expect(streamed([text.slice(0, cut), text.slice(cut)])).toBe(whole);
  }
});

verifies('ST-7', 'a key of an object, or a name next to it, makes a value a secret', () => {
  const mark = (kind: string, secret: string) => `[REDACTED:${kind}:${hash(secret)}]`;
  const safe = mark('authorization', letters);
  const input = (basic: string, key: string, access: string) => ({
    headers: { Authorization: basic, 'x-api-key': key, Accept: ['*/*', 'text/html'] },
    listed: { authorization: [basic, 'Basic short'], other: ['Authorization', basic, 'X-Api-Key'] },
    har: [
      { name: 'Proxy-Authorization', value: basic },
      { key: 'X-API-KEY', value: key },
      { name: 'Accept', value: letters },
    ],
    pairs: [['authorization', basic] as const, ['Accept', letters] as const],
    env: { AWS_SECRET_ACCESS_KEY: access, value: letters },
    text: 'no secret of any kind',
  });
  const tool = redactor();
  expect(tool.value(input(`Basic ${letters}`, letters, aws))).toEqual(
    input(`Basic ${safe}`, safe, mark('aws', aws)),
  );
  expect(tool.counts()).toEqual({ authorization: 7, aws: 1 });
  expect(tool.foreign({ 'x-api-key': 1234567890 })).toEqual({
    'x-api-key': mark('authorization', '1234567890'),
  });
});

verifies('ST-7', 'a value after a key is redacted once, even if it contains the key', () => {
  const header = `Authorization: Basic ${letters}`;
  const tool = redactor({ MY_AUTH: header, MY_TOKEN: letters });
  const safe = tool.value({ Authorization: `Basic ${letters}` });
  expect(JSON.stringify(safe)).not.toContain(letters);
  expect(tool.value(safe)).toBe(safe);
});

verifies(
  'ST-7',
  'every header scheme is recognised, and passwords with any characters are found',
  () => {
    const found: Record<string, string> = {
      'Authorization: Bot SECRET': 'MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7',
      'Authorization: SSWS SECRET': '00QCjAl4MlV-WPXM123',
      '"authorization" : "OAuth SECRET"': 'ya29xAbCdEf12345',
      'Authorization: Key SECRET,': 'abcd1234:efgh5678',
      'X-api-key: SECRET': 'abcdef0123456789',
      'x-Api-Key=SECRET': 'abcdef0123456789',
      'https://user:SECRET@host/x': '%21Secret123',
      'postgres://user:SECRET@host/db': '$ecretPass99',
      'see https://user:SECRET@host:80/x,y@z': 'pa@ssw0rd99',
      'http://user:SECRET@host': 'p:a@b',
    };
    const tool = redactor();
    for (const [text, secret] of Object.entries(found)) {
      const kind = text.includes('://') ? 'url' : 'authorization';
      const safe = text.replace('SECRET', `[REDACTED:${kind}:${hash(secret)}]`);
      expect(tool.text(text.replace('SECRET', () => secret))).toBe(safe);
      expect(tool.text(safe)).toBe(safe);
    }
    // A long scheme may be the secret itself; the mark is that of the key.
    for (const scheme of ['GenieKey', 'Klaviyo-API-Key'])
      expect(tool.text(`Authorization: ${scheme} ${letters}`)).toBe(
        `Authorization: [REDACTED:authorization:${hash(letters)}]`,
      );
    expect(tool.text('authorization=huntertwo host=10.0.0.1:8080/a')).not.toContain('hunter');
    const left = [
      'Authorization: none required; see https://host/rfc7235/section-2',
      'Authorization: see https://host/rfc7235/section-2',
      'authorization = new OAuth2Client(x)',
      'postgres://u:$PASSWORD@h ftp://u:%PASS_2%@h http://u:%s@h http://u:****@h http://u:xxxx@h',
      ['http://u:$', '{PASSWORD}@h'].join(''),
      'http://u:<password>@h http://user@host:8080 http://h:80/a@b',
    ];
    for (const text of left) expect(tool.text(text)).toBe(text);
  },
);

const PEM = [
  ['-----BEGIN RSA ', 'PRIVATE KEY-----'].join(''),
  ...[0, 1, 2, 3].map((at) => `${at}${letters}`),
  ['-----END RSA ', 'PRIVATE KEY-----'].join(''),
];
const html = (text: string) => text.replaceAll('"', '&quot;').replaceAll("'", '&#39;');

verifies('ST-7', 'known shapes are found in addresses, forms, HTML and nested JSON', () => {
  const key = PEM.join('\n');
  const header = `Authorization: Basic ${letters}`;
  const object = `{"Authorization" : "Basic ${letters}", 'x-api-key': '${letters}'}`;
  const texts: Record<string, string> = {
    'a key in an address': encodeURIComponent(key),
    'a key of one line in an address': encodeURIComponent(`${PEM[0]}\n${letters.repeat(40)}`),
    'a key in a form': new URLSearchParams({ key }).toString(),
    'a key with escaped blanks': key.replaceAll(' ', '\\u0020'),
    'a header in an address': encodeURIComponent(header),
    'a header in a form': new URLSearchParams({ header }).toString(),
    'a token in an address': encodeURIComponent(`Bearer ${letters}`),
    'a password in an address': encodeURIComponent(`https://user:${letters}@host/x`),
    'an object in an address': encodeURIComponent(object),
    'an object in HTML': html(object),
    ...Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`JSON ${n} times`, json(object, n)])),
  };
  const missed: string[] = [];
  for (const env of [{}, { MY_KEY: 'Zq81mKpXv0tRs5Wd9Lb2' }]) {
    const tool = redactor(env);
    for (const [name, each] of Object.entries(texts)) {
      const text = `before ${each} and after`;
      const whole = tool.text(text);
      const given = [...text].map((char) => tool.delta('k', char)).join('') + tool.flush('k');
      if (whole.includes(letters.slice(0, 20)) || given !== whole) missed.push(`${name}: ${given}`);
    }
  }
  expect(missed).toEqual([]);
  const mark = `[REDACTED:authorization:${hash(letters)}]`;
  expect(redactor().text(html(`"authorization": "${letters}"`))).toBe(
    html(`"authorization": "${mark}"`),
  );
});

verifies('ST-7', 'a private key is found where its lines are the items of a list', () => {
  const tool = redactor();
  const input = { lines: ['first of all', ...PEM, 'the last of them', 4], other: ['a', 'b'] };
  const safe = tool.value(input);
  expect(JSON.stringify(safe)).not.toContain(letters);
  expect(safe.lines.at(0)).toBe('first of all');
  expect(safe.lines.slice(-2)).toEqual(['the last of them', 4]);
  expect(safe.other).toEqual(['a', 'b']);
});
