import { expect, test } from 'vitest';
import { parseQuery } from './parse-query.ts';
import { snippetOf } from './snippet.ts';

function marked(text: string, query: string): string {
  const { text: shown, marks } = snippetOf([text], parseQuery(query).terms);
  const pieces: string[] = [];
  let at = 0;
  for (const [start, end] of marks) {
    pieces.push(shown.slice(at, start), `[${shown.slice(start, end)}]`);
    at = end;
  }
  return pieces.join('') + shown.slice(at);
}

test('matches are marked as the index finds them', () => {
  const cases: [text: string, query: string, expected: string][] = [
    ['call getUserName now', 'user', 'call get[User]Name now'],
    ['call getUserName now', 'getusername', 'call [getUserName] now'],
    ['call getUserName now', 'userName', 'call get[UserName] now'],
    ['a user_name here', 'userName', 'a [user_name] here'],
    ['Connection: refused!', '"connection refused"', '[Connection: refused]!'],
    ['configure the config', 'conf*', '[configure] the [config]'],
    ['全文検索のテスト', '検索', '全文[検索]のテスト'],
    ['naïve café', 'cafe', 'naïve [café]'],
    ['nothing here', 'other', 'nothing here'],
    ['src/app/main.ts', 'main.ts', 'src/app/[main.ts]'],
    ['error error', 'error', '[error] [error]'],
  ];
  for (const [text, query, expected] of cases) expect(marked(text, query), query).toBe(expected);
});

test('white space is collapsed, and a long text is cut around the first match', () => {
  expect(marked('one\n\n  two\tthree', 'two')).toBe('one [two] three');
  const long = `${'word '.repeat(100_000)}needle ${'word '.repeat(100)}`;
  const shown = marked(long, 'needle');
  expect(shown).toContain('[needle]');
  expect(shown.length).toBeLessThan(300);
});
