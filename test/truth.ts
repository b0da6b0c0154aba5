/** The facts in a recording's truth.json, compared with an outcome one by one. */
import type { RunOutcome } from '../src/model/outcome.ts';
import type { Usage } from '../src/model/parts.ts';

interface FileChange {
  path: string;
  /** Null: it changed, but how is undecided. */
  operation: string | null;
}

export interface TruthCall {
  id: string;
  tool: string;
  native_tool: string;
  status: string;
  exit_code: number | null;
  input: Record<string, unknown> | null;
  parent_id: string | null;
}

/** Null: the channel does not say, or it is undecided. */
export interface Truth {
  calls: TruthCall[];
  final_text: string | null;
  ok: boolean | null;
  exit_reason: string | null;
  terminal_evidence: string | null;
  usage: Usage | null;
  cost_usd: number | null;
  model: string | null;
  session_id: string | null;
  steps: number | null;
  provider_retries: number | null;
  provider_errors: number | null;
  denied: string[] | null;
  skills_used: string[] | null;
  files: FileChange[] | null;
}

export interface Wrong {
  fact: string;
  want: unknown;
  got: unknown;
}

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
/** A path relative to the work folder of the recordings: captured by hand, or in the rehearsal's sandbox. */
export const relative = (path: unknown) =>
  typeof path === 'string'
    ? path.replace(/^(?:\/home\/user\/project|\/mnt\/room\/work)\/?/, '')
    : path;

class Comparison {
  readonly wrong: Wrong[] = [];

  check(fact: string, want: unknown, got: unknown, equal = same): void {
    if (want === null || want === undefined || equal(want, got ?? null)) return;
    this.wrong.push({ fact, want, got: got ?? null });
  }
}

/** Wrong facts of the outcome; empty when it is right. */
export function wrongFacts(truth: Truth, outcome: RunOutcome): Wrong[] {
  const { metrics } = outcome;
  const facts = new Comparison();
  facts.check('ok', truth.ok, outcome.success);
  facts.check('exit_reason', truth.exit_reason, outcome.exit_reason);
  facts.check('terminal_evidence', truth.terminal_evidence, outcome.terminal_evidence);
  facts.check('final_text', truth.final_text?.trim(), outcome.message.trim());
  facts.check('session_id', truth.session_id, outcome.session_id);
  facts.check('model', truth.model, metrics.model_name, sameModel);
  facts.check('steps', truth.steps, metrics.steps);
  facts.check('provider_retries', truth.provider_retries, metrics.provider_retries);
  facts.check('provider_errors', truth.provider_errors, metrics.provider_errors);
  facts.check('cost_usd', truth.cost_usd, metrics.cost, sameCost);
  for (const [name, want] of Object.entries(truth.usage ?? {})) {
    facts.check(`usage.${name}`, want, metrics.tokens[name as keyof Usage]);
  }
  facts.check('skills_used', truth.skills_used?.toSorted(), outcome.skills_used.toSorted());
  facts.check('files', truth.files, outcome.artifacts, sameChanges);
  compareCalls(truth, outcome, facts);
  return facts.wrong;
}

function sameModel(want: unknown, got: unknown): boolean {
  return got === want || String(got).endsWith(`/${want}`);
}

function sameCost(want: unknown, got: unknown): boolean {
  return typeof got === 'number' && Math.abs(got - (want as number)) < 1e-9;
}

/** The same paths with the same operations, where an operation is given. */
function sameChanges(want: unknown, got: unknown): boolean {
  const open = new Set(
    (want as FileChange[]).filter((file) => file.operation === null).map(pathOf),
  );
  const named = (files: unknown) =>
    (files as FileChange[]).map((file) =>
      open.has(pathOf(file)) ? pathOf(file) : `${pathOf(file)} ${file.operation}`,
    );
  return same([...new Set(named(want))].sort(), [...new Set(named(got))].sort());
}

const pathOf = ({ path }: FileChange) => String(relative(path));

function compareCalls(truth: Truth, outcome: RunOutcome, facts: Comparison): void {
  const calls = outcome.tool_calls;
  facts.check('calls', truth.calls.length, calls.length);
  const denied = calls.filter((call) => call.status === 'denied').map((call) => call.id);
  facts.check('denied', truth.denied?.toSorted(), denied.toSorted());
  truth.calls.forEach((want, index) => {
    // An id that the agent used twice has a suffix the second time.
    const got = calls[index];
    const at = `calls[${index}]`;
    facts.check(`${at}.id`, want.id, got?.id.replace(/#\d+$/, ''));
    facts.check(`${at}.tool`, want.tool, got?.name);
    facts.check(`${at}.native_tool`, want.native_tool, got?.native_name);
    facts.check(`${at}.status`, want.status, got?.status);
    facts.check(`${at}.exit_code`, want.exit_code, got?.exit_code);
    if (want.exit_code === null && got?.exit_code !== null) {
      facts.check(`${at}.exit_code`, 'null', got?.exit_code);
    }
    facts.check(`${at}.parent_id`, want.parent_id, got?.parent_id);
    const inputs = got?.inputs as Record<string, unknown> | null | undefined;
    for (const [field, value] of Object.entries(want.input ?? {})) {
      facts.check(`${at}.input.${field}`, relative(value), relative(inputs?.[field]));
    }
  });
}
