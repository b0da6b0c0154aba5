import { expect, test } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { shellReads } from './shell-reads.ts';

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
  ['', []],
  ['cat', []],
  ["cat 'open", ['open']],
];

verifies(
  'AG-8',
  'the files that simple read commands read are found by parsing the command line',
  () => {
    const found = CASES.map(([command]) => [command, shellReads(command)]);
    expect(found).toEqual(CASES);
  },
);

verifies('AG-8', 'no command line takes long or throws', () => {
  for (const piece of ['cat ', "'", '"', '\\', '$(', '<<A\n', '((', 'a|', 'cat <<<<']) {
    const command = piece.repeat(60_000 / piece.length);
    const start = performance.now();
    shellReads(command);
    expect(performance.now() - start, piece).toBeLessThan(5_000);
  }
});

test('a command that is too long to be looked at reads nothing', () => {
  expect(shellReads(`cat a ${'#'.repeat(70_000)}`)).toEqual([]);
});
