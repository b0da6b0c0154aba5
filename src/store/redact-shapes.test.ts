import { expect } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { secretHash } from './hash.ts';
import { createRedactor } from './redact.ts';

const hash = secretHash(Buffer.alloc(32, 1));
const redactor = (env: Record<string, string> = {}) =>
  createRedactor({ env, secret_env: [], hash });

// Put together here, so that no scanner takes the test for a leak.
const letters = 'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0eFgHiJkLmNoPqRsTuVwXyZ';
const aws = letters.slice(0, 38).concat('/+');
const json = (text: string, times: number): string =>
  times === 0 ? text : json(JSON.stringify(text), times - 1);

/** Secrets behind a word; SECRET is put in for it. */
const BEHIND_WORDS = [
  'Authorization: Basic SECRET',
  '{"Authorization" : "Basic SECRET"}',
  'Authorization = Basic SECRET',
  'authorization  =  "token  SECRET"',
  'Proxy-Authorization:\n  Digest SECRET',
  'Bearer     SECRET',
  "'X-Api-Key' : 'SECRET'",
  'x-api-key = SECRET',
  json('{"Authorization": "Basic SECRET"}', 3),
];

verifies('ST-7', 'a secret behind a word is found in any pieces as in the whole text', () => {
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
