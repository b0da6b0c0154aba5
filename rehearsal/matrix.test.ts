import { expect, test } from 'vitest';
import { type Result, terminalTable } from './matrix.ts';

const result = (scenario: string, outcome: Result['outcome'], reasons: string[] = []): Result => ({
  agent: 'toy',
  version: '1.0.0',
  scenario,
  outcome,
  reasons,
  duration_ms: 1234,
  room: null,
});
const RESULTS = [
  result('text', 'passed'),
  result('read', 'failed', ['exit code is 1, not 0']),
  result('skill', 'left_out', ['has none']),
];

test('the terminal gets a mark for each scenario, then the reasons', () => {
  expect(terminalTable(RESULTS)).toBe(
    [
      '       toy 1.0.0',
      'text   ✓ 1.2 s',
      'read   ✗ 1.2 s',
      'skill  –',
      '',
      '✗ toy 1.0.0 read',
      '    exit code is 1, not 0',
      '',
      '1 of 2 as expected',
      '',
    ].join('\n'),
  );
});
