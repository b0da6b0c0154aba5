/** Redaction in evals: of the input of graders, of their answers, and of the stored results. */
import type { EvalRow } from '../../evals/results.ts';
import type { AssertionResult } from '../../evals/types.ts';
import type { Redactor } from '../../redact/gate.ts';
import type { Subject } from './subjects.ts';
import type { OpenTools } from './tools.ts';

/** Length of the reason of a failure. */
const FAILURE_BYTES_MAX = 500;

export function redactedTools(tools: OpenTools, redactor: Redactor): OpenTools {
  const failed = (why: string | null) =>
    why === null ? null : redactor.head(why, FAILURE_BYTES_MAX);
  return {
    ...tools,
    safe: (value) => redactor.value(value),
    async run(request) {
      const result = await tools.run({ ...request, input: redactor.text(request.input) });
      return {
        ...result,
        failure: failed(result.failure),
        stdout: redactor.text(result.stdout),
        stderr: redactor.text(result.stderr),
      };
    },
    async ask(request) {
      const system = redactor.text(request.system);
      const prompt = redactor.text(request.prompt);
      const { text, failure } = await tools.ask({ ...request, system, prompt });
      return { text: redactor.text(text), failure: failed(failure) };
    },
  };
}

/**
 * Redacts the fields that identify a row. The rest is redacted where it is used; the id of a test must stay findable.
 */
export async function* redactedSubjects(
  subjects: AsyncIterable<Subject>,
  redactor: Redactor,
): AsyncGenerator<Subject> {
  for await (const { transcript, path, ...rest } of subjects) {
    const { run_id, agent, target } = transcript;
    const known = {
      run_id: redactor.text(run_id),
      agent: redactor.name(agent),
      target: target === null ? null : redactor.name(target),
    };
    yield { transcript: { ...transcript, ...known }, path: redactor.name(path), ...rest };
  }
}

/** Verdicts, figures and the fields that identify the row stay unchanged. */
export function redactedRow(row: EvalRow, redactor: Redactor): EvalRow {
  const assertions = row.assertions.map((result) => redactedResult(result, redactor));
  return { ...row, assertions, error: row.error === null ? null : redactor.text(row.error) };
}

function redactedResult(result: AssertionResult, redactor: Redactor): AssertionResult {
  const { assertions } = result;
  return {
    ...result,
    reason: redactor.text(result.reason),
    evidence: result.evidence.map(({ text, detail, ...fact }) => ({
      ...fact,
      text: redactor.text(text),
      ...(detail !== undefined && { detail: redactor.text(detail) }),
    })),
    ...(assertions && { assertions: assertions.map((each) => redactedResult(each, redactor)) }),
  };
}
