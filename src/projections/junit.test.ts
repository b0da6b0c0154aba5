import { expect, test } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { type JunitCase, junitXml } from './junit.ts';

const CASE: JunitCase = { name: 'a', classname: 's', duration_ms: 1234, problem: null };

verifies('EV-10', 'JUnit XML contains and counts passed, failed, broken and skipped cases', () => {
  const failure = { kind: 'failure' as const, message: 'm', text: 't' };
  const cases = [
    CASE,
    { ...CASE, name: 'b', problem: failure, output: 'said' },
    { ...CASE, name: 'c', problem: { ...failure, kind: 'error' as const } },
    { ...CASE, name: 'd', duration_ms: null, skipped: 'later' },
  ];
  expect(junitXml('all', [{ name: 's', cases, properties: { agent: 'demo' } }])).toBe(
    `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="all" tests="4" failures="1" errors="1" skipped="1" time="3.702">
  <testsuite name="s" tests="4" failures="1" errors="1" skipped="1" time="3.702">
    <properties>
      <property name="agent" value="demo"/>
    </properties>
    <testcase name="a" classname="s" time="1.234"/>
    <testcase name="b" classname="s" time="1.234">
      <failure message="m" type="failure">t</failure>
      <system-out>said</system-out>
    </testcase>
    <testcase name="c" classname="s" time="1.234">
      <error message="m" type="error">t</error>
    </testcase>
    <testcase name="d" classname="s">
      <skipped message="later"/>
    </testcase>
  </testsuite>
</testsuites>
`,
  );
});

test('foreign text cannot break the XML', () => {
  const text = ']]></failure> <!-- & "q" \u0000\u001b[31m\ud800 \ufffe\n\r\t😀';
  const problem = { kind: 'failure' as const, message: text, text };
  const xml = junitXml('x', [{ name: '<&>', cases: [{ ...CASE, problem }] }]);
  expect(xml).toContain(
    'message="]]&gt;&lt;/failure&gt; &lt;!-- &amp; &quot;q&quot; \\u{0}\\u{1b}[31m\\u{d800} \\u{fffe}&#10;&#13;&#9;😀"',
  );
  expect(xml).toContain('>]]&gt;&lt;/failure&gt; &lt;!-- &amp; "q" \\u{0}\\u{1b}[31m');
});
