import { expect, test } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { annotationLine, annotationLines, markdownText, summaryMarkdown } from './github.ts';

verifies('EV-10', 'an annotation is one line that foreign text cannot leave', () => {
  const line = annotationLine({
    level: 'error',
    title: 'eval a,b: 100 %',
    message: 'no\r\n::warning::more % and : and , ##[x]\u001b]52',
    file: 'evals/a,b.yaml',
    line: 3,
  });
  expect(line).toBe(
    '::error file=evals/a%2Cb.yaml,line=3,title=eval a%2Cb%3A 100 %25::no%0A:\\u{3a}warning::more %25 and : and , ##\\u{5b}x]\\u{1b}]52\n',
  );
});

test('there are as many annotations as Actions shows, and the last one counts the rest', () => {
  const some = (level: 'error' | 'warning', count: number) =>
    Array.from({ length: count }, (_, i) => ({ level, title: 't', message: String(i) }));
  expect(annotationLines(some('error', 10)).split('\n')).toHaveLength(11);
  const lines = annotationLines([...some('warning', 2), ...some('error', 25)]).split('\n');
  expect(lines.filter((line) => line.startsWith('::error'))).toHaveLength(10);
  expect(lines[9]).toBe('::error title=tacho::16 more: see the summary of this step');
  expect(lines.filter((line) => line.startsWith('::warning'))).toHaveLength(2);
});

test('foreign text in a summary is shown literally', () => {
  expect(markdownText('<img src=x> | **b** @me\n[a](b) &amp; https://x www.x.y \u202e')).toBe(
    '&lt;img src=x&gt; \\| \\*\\*b\\*\\* &#64;me \\[a\\]\\(b\\) &amp;amp; https&#58;//x www&#46;x.y',
  );
});

verifies('EV-10', 'a summary is Markdown, and no larger than Actions accepts', () => {
  const table = { head: ['a', 'b'], rows: [['1', '2']] };
  expect(summaryMarkdown([{ title: 'T', text: 'Words.', table }])).toBe(
    '## T\n\nWords.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n',
  );
  const rows = Array.from({ length: 100_000 }, () => ['ä'.repeat(50), 'b']);
  const long = summaryMarkdown([{ table: { head: ['a', 'b'], rows } }]);
  expect(Buffer.byteLength(long)).toBeLessThanOrEqual(1024 * 1024);
  expect(long.endsWith('the rest is left out: a summary may have at most 1 MiB.\n')).toBe(true);
});
