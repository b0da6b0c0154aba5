import { expect, test } from 'vitest';
import { call, transcript } from '../../../test/build-transcript.ts';
import { gradeTranscripts } from './grade.ts';

const TEXT = `tests:
  - { id: reads, assertions: [{ type: tool-trajectory, mode: superset, expected: [{ tool: Read }] }] }
`;

test('a program grades transcripts that it has by the text of an eval file', async () => {
  const transcripts = [transcript([call('Read', { file_path: 'a' })]), transcript()];
  const { report, problems } = await gradeTranscripts({ text: TEXT, transcripts });
  expect(
    report.tests.map(({ id, verdict, transcript_line }) => [id, verdict, transcript_line]),
  ).toEqual([
    ['reads', 'pass', 1],
    ['reads', 'fail', 2],
  ]);
  expect([report.exit_code, problems]).toEqual([1, []]);
});

test('a threshold applies to every test', async () => {
  const text = `tests: [{ id: a, assertions: [{ type: contains, value: Done }, { type: is-json }] }]`;
  const verdict = async (threshold: number) =>
    (await gradeTranscripts({ text, transcripts: [transcript()], threshold })).report.passed;
  expect([await verdict(0.5), await verdict(0.6)]).toEqual([1, 0]);
});

test('a transcript that belongs to no test is a problem, and each: true grades it by every test', async () => {
  const text = `assertions: [{ type: contains, value: Done }]\ntests: [{ id: a }, { id: b }]`;
  const transcripts = [transcript()];
  const { report, problems } = await gradeTranscripts({ text, transcripts });
  expect([report.exit_code, problems]).toEqual([2, [expect.stringMatching(/^transcripts:1: /)]]);
  expect((await gradeTranscripts({ text, transcripts, each: true })).report.passed).toBe(2);
});

test('commands in an eval file need consent, and mistakes name their line', async () => {
  const transcripts = [transcript()];
  const text = `tests: [{ id: a, assertions: [{ type: code-grader, command: "echo '{\\"score\\": 1}'" }] }]`;
  await expect(gradeTranscripts({ text, transcripts })).rejects.toMatchObject({
    code: 'untrusted',
  });
  expect((await gradeTranscripts({ text, transcripts, trust: true })).report.passed).toBe(1);
  await expect(gradeTranscripts({ text: 'tests:\n  - ida: 1', transcripts })).rejects.toThrow(
    /^eval\.yaml:2:5: /,
  );
  await expect(gradeTranscripts({ text })).rejects.toMatchObject({ code: expect.any(String) });
});
