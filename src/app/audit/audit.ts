/** Lists what agents did that needs attention, by rules, with the completeness of the records behind it (SE-8). */
import { findAgent } from '../../agents/registry.ts';
import { TachoError } from '../../lib/errors.ts';
import type { AuditFinding, AuditSummary, AuditUnread } from '../../model/audit.ts';
import { AUDIT_SCHEMA } from '../../model/words.ts';
import { type RunAudit, RunAuditFold } from '../../projections/audit/audit-run.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import type { RunQuery } from '../../store/index/runs-table.ts';
import { isRecorded, listSpools } from '../../store/spool/spool.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { APP_LIMITS } from '../limits.ts';
import { journalledEvents } from '../runs/replay.ts';
import { checkChain } from './chain.ts';
import type { RuleSources } from './rule-sources.ts';

/** The result of an audit. */
export interface AuditReport {
  /** Calls that meet a rule, by severity, then by run. */
  findings: AuditFinding[];
  /** Parts of calls that could not be read. */
  not_analysed: AuditUnread[];
  /** Counts, and the completeness of the records. */
  summary: AuditSummary;
}

export interface AuditRequest {
  /** One run, which may be unfinished, or all that a query finds. */
  runs: { run_id: string } | { query: RunQuery };
  rules: RuleSources;
  verify: boolean;
}

export async function audit(state: StateDir, request: AuditRequest): Promise<AuditReport> {
  using index = openIndex(state);
  const totals = new Totals(request.rules.changed);
  const { runs } = request;
  const ids = 'run_id' in runs ? [runs.run_id] : [...idsOf(index, runs.query)];
  if (request.verify) await totals.verify(state, ids);
  for (const run_id of ids) await totals.add(state, index, run_id, request.rules);
  totals.unlisted('run_id' in runs ? 0 : unfinishedIn(state));
  return totals.report();
}

function* idsOf(index: Index, query: RunQuery): Generator<string> {
  for (const { run_id } of index.listRuns(query)) yield run_id;
}

/** Runs that are being recorded, or that a killed tacho left. */
const unfinishedIn = (state: StateDir) =>
  listSpools(state).filter((spool) => !isRecorded(spool)).length;

const RANKS = { high: 0, medium: 1, low: 2, info: 3 };

class Totals {
  readonly #findings: AuditFinding[] = [];
  readonly #unread: AuditUnread[] = [];
  readonly #summary: AuditSummary;
  readonly #decisions: RunAudit['decisions'] = new Map();
  readonly #agents = new Set<string>();

  constructor(changed_rules: AuditSummary['changed_rules']) {
    this.#summary = {
      ...{ schema_version: AUDIT_SCHEMA, kind: 'summary', runs: 0, calls: 0 },
      findings: { high: 0, medium: 0, low: 0, info: 0 },
      ...{ rules: {}, findings_not_listed: 0, decisions: [], not_analysed: 0 },
      ...{ not_analysed_not_listed: 0, unknown_paths: 0, changed_rules, verified: null },
      completeness: {
        ...{ with_gaps: [], unfinished: [], unlisted: 0, without_inputs: [], unreadable: [] },
        ...{ agents_without_denials: [], agents_without_decisions: [] },
      },
    };
  }

  async verify(state: StateDir, ids: readonly string[]): Promise<void> {
    const { verifyRun } = await import('../runs/verify.ts');
    const chain = await checkChain(state);
    const verified: NonNullable<AuditSummary['verified']> = { runs: 0, faults: [], chain };
    for (const run_id of ids) {
      const { ok, faults } = await verifyRun(state, run_id);
      verified.runs += 1;
      if (!ok) verified.faults.push({ run_id, faults });
    }
    this.#summary.verified = verified;
  }

  async add(state: StateDir, index: Index, run_id: string, rules: RuleSources): Promise<void> {
    const { completeness } = this.#summary;
    let fold: RunAuditFold | null = null;
    try {
      for await (const event of journalledEvents(state, run_id, index)) {
        const project = event.kind === 'run_started' ? event.data.project?.path : undefined;
        fold ??= new RunAuditFold(rules.of(project ?? null));
        fold.push(event);
      }
    } catch (error) {
      if (!(error instanceof TachoError)) throw error;
      completeness.unreadable.push({ run_id, why: error.message });
    }
    if (fold === null) {
      if (!completeness.unreadable.some((one) => one.run_id === run_id))
        completeness.unreadable.push({ run_id, why: 'the journal has no events of it' });
      return;
    }
    this.#take(run_id, fold);
  }

  #take(run_id: string, fold: RunAuditFold): void {
    const { started, finished } = fold.run;
    const found = fold.finish();
    const { completeness } = this.#summary;
    this.#summary.runs += 1;
    this.#summary.calls += found.calls;
    this.#summary.unknown_paths += found.unknown_paths;
    if (started !== null) this.#agents.add(started.data.agent);
    const { grade, gaps = [] } = finished?.data.completeness ?? {};
    // Missing token figures hide no call.
    const only_usage = gaps.every((gap) => gap === 'usage_unknown') && gaps.length > 0;
    if (finished === null) completeness.unfinished.push(run_id);
    else if (grade !== 'complete' && !only_usage) completeness.with_gaps.push({ run_id, gaps });
    if (found.calls > 0 && found.inputs === 0) completeness.without_inputs.push(run_id);
    for (const finding of found.findings) this.#finding(finding);
    this.#summary.not_analysed += found.unread.length;
    const room = Math.max(0, APP_LIMITS.audit_unread_max - this.#unread.length);
    this.#unread.push(...found.unread.slice(0, room));
    this.#summary.not_analysed_not_listed += Math.max(0, found.unread.length - room);
    for (const [key, { calls, ...one }] of found.decisions) {
      const before = this.#decisions.get(key)?.calls ?? 0;
      this.#decisions.set(key, { ...one, calls: before + calls });
    }
  }

  #finding(finding: AuditFinding): void {
    const { findings, rules } = this.#summary;
    findings[finding.severity] += 1;
    rules[finding.rule] = (Object.hasOwn(rules, finding.rule) ? (rules[finding.rule] ?? 0) : 0) + 1;
    if (this.#findings.length < APP_LIMITS.audit_findings_max) this.#findings.push(finding);
    else this.#summary.findings_not_listed += 1;
  }

  unlisted(count: number): void {
    this.#summary.completeness.unlisted = count;
  }

  async report(): Promise<AuditReport> {
    const { completeness } = this.#summary;
    for (const id of [...this.#agents].sort()) {
      const capabilities = (await findAgent(id))?.capabilities;
      if (capabilities?.denials === 'never') completeness.agents_without_denials.push(id);
      if (capabilities?.decisions === 'never') completeness.agents_without_decisions.push(id);
    }
    this.#summary.decisions = [...this.#decisions.values()].sort((a, b) => b.calls - a.calls);
    const findings = this.#findings.sort((a, b) => RANKS[a.severity] - RANKS[b.severity]);
    return { findings, not_analysed: this.#unread, summary: this.#summary };
  }
}
