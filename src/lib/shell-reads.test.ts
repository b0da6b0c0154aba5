import { expect, test } from 'vitest';
import { cpuMs } from '../../test/cpu-ms.ts';
import { verifies } from '../../test/e2e/verifies.ts';
import { onlyRead, shellReads } from './shell-reads.ts';

/** Command line → the files it reads. */
const CASES: readonly (readonly [string, readonly string[]])[] = [
  ['cat a.txt', ['a.txt']],
  ['cat a.txt b.txt', ['a.txt', 'b.txt']],
  ["cat 'my file.txt'", ['my file.txt']],
  ['cat "my file.txt"', ['my file.txt']],
  ['cat my\\ file.txt', ['my file.txt']],
  ['head -n 20 src/a.ts', ['src/a.ts']],
  ['head -20 src/a.ts', ['src/a.ts']],
  ['tail -n +3 log', ['log']],
  ['tail -c 100 log', ['log']],
  ["sed -n '1,5p' file", ['file']],
  ['sed -n 7p file', ['file']],
  ['sed -n -e 1p -e 3p file', ['file']],
  ["sed -i 's/a/b/' file", []],
  ["sed 's/a/b/' file", []],
  ['nl -ba file', ['file']],
  ['less file', ['file']],
  ['bat --style plain file', ['file']],
  ['head --lines 3 file', ['file']],
  ['grep -n needle file', ['file']],
  ['grep -e needle file', ['file']],
  ['grep -A 3 needle one two', ['one', 'two']],
  ['grep -rn needle src', []],
  ['grep needle', []],
  ['rg needle', []],
  ['rg needle src/a.ts', ['src/a.ts']],
  ['cat a.txt | grep b', ['a.txt']],
  ['echo x | cat', []],
  ['cat < in.txt', ['in.txt']],
  ['cat in.txt > out.txt 2>&1', ['in.txt']],
  ['cat a && cat b; cat c || cat d', ['a', 'b', 'c', 'd']],
  ['cd src && cat a.ts', ['src/a.ts']],
  ['cd src && cd lib && head b.ts', ['src/lib/b.ts']],
  ['cd /abs && cat x', ['/abs/x']],
  ['cd src && cat /etc/hosts', ['/etc/hosts']],
  ['LANG=C cat a.txt', ['a.txt']],
  ['sudo cat a.txt', ['a.txt']],
  ['/bin/cat a.txt', ['a.txt']],
  ['cat $FILE', []],
  ['cat "$HOME/x"', []],
  ['cat *.md', []],
  ['cat $(ls)', []],
  ['cat -', []],
  ['cat -- -x', ['-x']],
  ['cat <<EOF > out.txt\ncat hidden\nEOF', []],
  ["cat <<'EOF'\nhead no\nEOF\ncat yes", ['yes']],
  ["echo 'cat hidden.txt'", []],
  ['echo "cat hidden.txt"', []],
  ['ls # cat hidden.txt', []],
  ['ls skills/x/SKILL.md', []],
  ['find . -name SKILL.md', []],
  ['if true; then cat a; fi', ['a']],
  ['(cat a)', ['a']],
  ['cat a a', ['a']],
  // A subshell's folder ends with its brackets, and in an unknown folder nothing is reported.
  ['(cd x && cat y); cat z', ['x/y', 'z']],
  ['cd x | cat y', ['y']],
  ['cd x 2>/dev/null && cat y', ['x/y']],
  ['{ cd x; cat y; }', ['x/y']],
  ['cd / && cat etc/hosts', ['/etc/hosts']],
  ['cd $X && cat y /z', ['/z']],
  ['cd - && cat y', []],
  ['cd && cat y', []],
  // Not files.
  ['less +G f', ['f']],
  ['bat -l js -r 1:5 f', ['f']],
  ['rg -r new old f', ['f']],
  ['cat \\\n f', ['f']],
  ['cat a{1,2}.txt', []],
  ['cat "$(dirname "x y")/z"', []],
  // Values in the same word, and long options.
  ['grep -efoo f', ['f']],
  ['grep --regexp=foo f', ['f']],
  ['grep --color foo f', ['f']],
  ["sed --quiet '1p' f", ['f']],
  ['sed -n --expression=1p f', ['f']],
  // Programs that run other programs.
  ['env -u A B=1 cat f', ['f']],
  ['timeout -k 1 5 nice -n 3 cat f', ['f']],
  ['sudo -u bob cat f', ['f']],
  ['command -v cat f', []],
  // Here-documents end where the shell ends them, and the rest of their line is read.
  ['cat <<EOF && cat z\nfoo\nEOF', ['z']],
  ['cat << \\EOF\ncat q\nEOF\ncat y', ['y']],
  ['cat <<-EOF\n\tcat q\n\tEOF\ncat y', ['y']],
  ['cat <<A <<B\ncat q\nA\ncat r\nB\ncat y', ['y']],
  ['cat <<EOF\n EOF\ncat q\nEOF\ncat y', ['y']],
  // Command lines inside words.
  ['x=$(cat f)', ['f']],
  ['echo "$(cat "a b")" `head g`', ['a b', 'g']],
  ["echo '$(cat f)'", []],
  ['cd x && echo $(cat f)', ['x/f']],
  ['', []],
  ['cat', []],
  ["cat 'open", []],
];

verifies('AG-8', 'files read by simple commands are found by parsing the command line', () => {
  const found = CASES.map(([command]) => [command, shellReads(command)]);
  expect(found).toEqual(CASES);
});

verifies('AG-8', 'a command is a read only when every part of it prints', () => {
  const commands = [
    "sed -n '1,5p' f",
    'sed -n -e 1p -e 3p f',
    "sed -n -e 1p -e 'w out' f",
    "sed -n 'w out' 5p",
    'sed -n 1p $(x)',
  ];
  expect(commands.map(onlyRead)).toEqual(['f', 'f', null, null, null]);
});

verifies('AG-8', 'no command line takes long or throws', () => {
  for (const piece of [
    'cat ',
    "'",
    '"',
    '\\',
    '$(',
    '<<A\n',
    '((',
    'a|',
    'cat <<<<',
    'cat <<E\n \n',
    '`cat $(',
  ]) {
    const command = piece.repeat(60_000 / piece.length);
    const start = cpuMs();
    shellReads(command);
    expect(cpuMs() - start, piece).toBeLessThan(2_000);
  }
});

test('a command too long to be parsed reads nothing', () => {
  expect(shellReads(`cat a ${'#'.repeat(70_000)}`)).toEqual([]);
});

test('the files of a command line are bounded in number, and each path in length', () => {
  const deep = shellReads('cd a;cat b;'.repeat(5_900));
  expect(deep.slice(0, 2)).toEqual(['a/b', 'a/a/b']);
  expect(Math.max(...deep.map(({ length }) => length))).toBeLessThanOrEqual(4_097);
  const names = Array.from({ length: 10_000 }, (_, at) => at).join(' ');
  expect(shellReads(`cd ${'a'.repeat(4_000)}; cat ${names}`)).toHaveLength(1_000);
});

test.each([
  ['cd /; cat a', '/a'],
  ['cd //; cat a', '/a'],
  ['cd x//; cat a', 'x/a'],
  ['cd /x/; cat a', '/x/a'],
])('slashes at the end of a folder: %s', (command, path) => {
  expect(shellReads(command)).toEqual([path]);
});
