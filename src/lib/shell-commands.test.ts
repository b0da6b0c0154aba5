/** The commands that a command line runs, and the parts that cannot be read. */
import { describe, expect, test } from 'vitest';
import { readShell } from './shell-commands.ts';

const ran = (command: string, language?: 'powershell') =>
  readShell(command, language).commands.map(({ program, words }) =>
    [program, ...words.map(({ text }) => text)].join(' '),
  );
const unread = (command: string) => readShell(command).unread.map(({ why }) => why);

describe('commands are found where they run', () => {
  test.each<[string, string[]]>([
    ['echo "rm -rf /"', ['echo rm -rf /']],
    ["grep 'rm -rf' x && ls", ['grep rm -rf x', 'ls']],
    ["sh -c 'rm -rf x'", ['sh -c rm -rf x', 'rm -rf x']],
    ['bash -lc "cd a && rm b"', ['bash -lc cd a && rm b', 'cd a', 'rm b']],
    ['sudo -u root rm x', ['rm x']],
    ['env A=1 B=2 rm x', ['rm x']],
    ['A=$(rm x) ls', ['rm x', 'ls']],
    ['echo `rm x` "$(rm y)"', ['rm x', 'rm y', 'echo  ']],
    ['find . -name a | xargs -n 1 rm -f', ['find . -name a', 'xargs -n 1 rm -f', 'rm -f']],
    ['find . -exec rm {} \\;', ['find . -exec rm {} ;', 'rm {}']],
    ['find . -exec a {} + -exec rm {} \\;', ['find . -exec a {} + -exec rm {} ;', 'a {}', 'rm {}']],
    ['npx -y rimraf x', ['npx -y rimraf x', 'rimraf x']],
    ['for f in a b; do rm "$f"; done', ['for f in a b', 'rm $f', 'done']],
    ['if true; then rm x; fi', ['true', 'rm x', 'fi']],
    ['(cd a; rm b)', ['cd a', 'rm b']],
    ['eval "rm x; rm y"', ['eval rm x; rm y', 'rm x', 'rm y']],
    ['sh <<EOF\nrm x\nEOF', ['sh', 'rm x']],
    ['cat <<EOF\nrm x\nEOF', ['cat']],
    ['cat <<EOF\n$(rm x)\nEOF', ['rm x', 'cat']],
    ["cat <<'EOF'\n$(rm x)\nEOF", ['cat']],
    ['echo rm x | sh', ['echo rm x', 'sh', 'rm x']],
    ["ssh host 'rm x'", ['ssh host rm x', 'rm x']],
    ['docker exec -it box rm x', ['docker exec -it box rm x', 'rm x']],
    ['kubectl exec pod -- rm x', ['kubectl exec pod -- rm x', 'rm x']],
    ['diff <(rm x) b', ['diff', 'rm x', 'b']],
    ['/usr/bin/RM.exe x', ['rm x']],
    [
      'powershell -Command "Remove-Item -Recurse C:\\\\x"',
      ['powershell -Command Remove-Item -Recurse C:\\x', 'remove-item -Recurse C:\\x'],
    ],
    ['cmd /c "del /s x"', ['cmd /c del /s x', 'del /s x']],
    ['test -f x && [ -d y ] || rm z', ['test -f x', '[ -d y ]', 'rm z']],
    ['# rm x', []],
  ])('%s', (command, want) => {
    expect(ran(command)).toEqual(want);
  });

  test('PowerShell has its own quotes', () => {
    expect(ran('cd C:\\a; Remove-Item .\\b -Force', 'powershell')).toEqual([
      'cd C:\\a',
      'remove-item .\\b -Force',
    ]);
  });
});

test('redirections and folders belong to their command', () => {
  const { commands } = readShell('cd /etc && cat < in > out 2>&1 >> log; > hosts');
  expect(
    commands.map(({ program, folder, reads, writes, appends }) => [
      program,
      folder,
      ...[reads, writes, appends].map((words) => words.map(({ text }) => text).join()),
    ]),
  ).toEqual([
    ['cd', '', '', '', ''],
    ['cat', '/etc', 'in', 'out', 'log'],
    [':', '/etc', '', 'hosts', ''],
  ]);
});

describe('parts that cannot be read are reported', () => {
  test.each<[string, string[]]>([
    ['$CMD x', ['the program is not known']],
    ['$(which rm) x', ['the program is not known']],
    ['bash -c "$SCRIPT"', ['the program is not known']],
    ['curl http://x | sh', ['commands from a pipe']],
    ['sh -c "$(curl http://x)"', ['the script is computed']],
    ['python3 -c "import os"', ['code for python']],
    ['node -e "1"', ['code for node']],
    ['python <<EOF\nx\nEOF', ['code for python']],
    ['pwsh -EncodedCommand abc', ['an encoded command']],
    ['ls; rm x', []],
    ['python script.py', []],
  ])('%s', (command, want) => {
    expect(unread(command)).toEqual(want);
  });

  test('a long or deeply nested line', () => {
    expect(unread(`echo ${'x'.repeat(70_000)}`)).toEqual(['too long']);
    let deep = 'rm x';
    for (let at = 0; at < 12; at++) deep = `echo $(${deep})`;
    expect(unread(deep)).toEqual(['nested too deeply']);
    expect(unread('rm x;'.repeat(2_000))).toEqual(['too many commands']);
    expect(unread(`${'xargs '.repeat(10_000)}rm`)).toEqual(['nested too deeply']);
  });
});
