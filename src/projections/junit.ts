/** JUnit XML for CI systems: suites of cases, each passed, failed, in error or skipped. */

import { forXml } from '../lib/foreign-text.ts';
import { own } from '../lib/own.ts';

export interface JunitCase {
  name: string;
  /** The group of the case, as consumers show it. */
  classname: string;
  /** Null if unknown; the attribute is then omitted. */
  duration_ms: number | null;
  /** `failure`: the check failed. `error`: it could not be judged. */
  problem: { kind: 'failure' | 'error'; message: string; text: string } | null;
  skipped?: string | null;
  /** Further text for people; null for none. */
  output?: string | null;
}

export interface JunitSuite {
  name: string;
  cases: readonly JunitCase[];
  properties?: Readonly<Record<string, string>>;
}

/** Characters that XML 1.0 cannot contain, not even escaped. */
const IMPOSSIBLE = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
  '\r': '&#13;',
  '\t': '&#9;',
};

const possible = (text: string) =>
  text.replace(IMPOSSIBLE, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`);
const inText = (text: string) =>
  forXml(possible(text).replace(/[&<>\r]/g, (one) => own(ESCAPES, one) as string));
const inAttribute = (text: string) =>
  forXml(possible(text).replace(/[&<>"\n\r\t]/g, (one) => own(ESCAPES, one) as string));

function attributes(values: Readonly<Record<string, string | number | null>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => ` ${name}="${inAttribute(String(value))}"`)
    .join('');
}

const seconds = (ms: number | null) => (ms === null ? null : (ms / 1000).toFixed(3));

function caseText({ name, classname, duration_ms, problem, skipped, output }: JunitCase): string {
  const head = attributes({ name, classname, time: seconds(duration_ms) });
  const parts: string[] = [];
  if (problem !== null) {
    const { kind, message, text } = problem;
    parts.push(`<${kind}${attributes({ message, type: kind })}>${inText(text)}</${kind}>`);
  }
  if (skipped != null) parts.push(`<skipped${attributes({ message: skipped })}/>`);
  if (output) parts.push(`<system-out>${inText(output)}</system-out>`);
  if (parts.length === 0) return `    <testcase${head}/>`;
  return `    <testcase${head}>\n${parts.map((part) => `      ${part}`).join('\n')}\n    </testcase>`;
}

function countsOf(cases: readonly JunitCase[]) {
  const count = (kind: string) => cases.filter(({ problem }) => problem?.kind === kind).length;
  const known = cases.map(({ duration_ms }) => duration_ms).filter((ms) => ms !== null);
  return {
    tests: cases.length,
    failures: count('failure'),
    errors: count('error'),
    skipped: cases.filter(({ skipped }) => skipped != null).length,
    time: seconds(known.length === 0 ? null : known.reduce((sum, ms) => sum + ms, 0)),
  };
}

function suiteText({ name, cases, properties = {} }: JunitSuite): string {
  const given = Object.entries(properties).map(
    ([key, value]) => `      <property${attributes({ name: key, value })}/>`,
  );
  return [
    `  <testsuite${attributes({ name, ...countsOf(cases) })}>`,
    ...(given.length === 0 ? [] : ['    <properties>', ...given, '    </properties>']),
    ...cases.map(caseText),
    '  </testsuite>',
  ].join('\n');
}

export function junitXml(name: string, suites: readonly JunitSuite[]): string {
  const all = suites.flatMap(({ cases }) => cases);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes({ name, ...countsOf(all) })}>`,
    ...suites.map(suiteText),
    '</testsuites>',
    '',
  ].join('\n');
}
